/**
 * `/mcp`: the MCP server of the gateway over HTTP (Streamable HTTP). Each request is served on its own: there are no sessions that
 * could be left open. Loaded with the first request.
 */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { HermesError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { createGatewayMcpServer } from './create-server.ts'
import type { McpGateway } from './gateway.ts'

/** Requests that are served at the same time; each may wait for minutes. More at once would keep the chats waiting. */
const usualMaxRequests = 256

/** The token, the host and the origin of a request have been checked. Rejects `http/busy`. */
export function createMcpEndpoint(
  gateway: McpGateway,
  version: string,
  log: Logger,
  maxRequests = usualMaxRequests,
): (request: Request) => Promise<Response> {
  let requests = 0
  const handler = createMcpHandler(() => createGatewayMcpServer(gateway, version), {
    // A client that waits for an event must not believe that the connection is dead.
    responseMode: 'sse',
    onerror: (error) => log.debug({ event: 'mcp.request_failed', err: error }, 'a request of an MCP client failed'),
  })
  return async (request) => {
    if (requests >= maxRequests) throw new HermesError('http/busy')
    requests += 1
    let isServed = true
    const leave = () => {
      if (isServed) requests -= 1
      isServed = false
    }
    try {
      const response = await handler.fetch(request)
      if (response.body === null) {
        leave()
        return response
      }
      return new Response(whenEnded(response.body, leave), response)
    } catch (error) {
      leave()
      throw error
    }
  }
}

/** The same stream; `ended` is called when it has ended, failed or been cancelled. */
function whenEnded(body: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  let isCancelled = false
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (isCancelled) return
        if (!done) return controller.enqueue(value)
        ended()
        controller.close()
      } catch (error) {
        ended()
        controller.error(error)
      }
    },
    async cancel(reason) {
      isCancelled = true
      ended()
      await reader.cancel(reason)
    },
  })
}
