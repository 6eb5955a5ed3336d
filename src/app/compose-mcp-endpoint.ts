/**
 * Composes `/mcp`, which calls the JSON API of its own gateway without a connection. Loaded with its first request.
 */
import { createMcpEndpoint } from '../clients/mcp-server/http-endpoint.ts'
import { toErrorResponse } from '../http/json-response.ts'
import { createRouteTable } from '../http/route-table.ts'
import { HermesError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { HttpRoute } from '../platforms/http-route.ts'

/** @param routes of the JSON API */
export function composeMcpEndpoint(routes: readonly HttpRoute[], version: string, log: Logger): HttpRoute['handle'] {
  const table = createRouteTable()
  for (const route of routes) table.add({ route, alwaysAvailable: true })

  const call: typeof fetch = async (address, init) => {
    const request = new Request(address, init)
    const path = new URL(request.url).pathname
    const entry = table.find(path)?.get(request.method)
    try {
      if (entry === undefined) throw new HermesError('http/not-found', path)
      return await entry.route.handle(request)
    } catch (error) {
      if (request.signal.aborted) throw error
      const { status, body: answer } = toErrorResponse(error, true)
      if (status >= 500) log.error({ event: 'mcp.call_failed', path, err: error }, 'a call of an MCP client failed')
      return Response.json(answer, { status })
    }
  }
  const gateway = { url: 'http://gateway.invalid', token: '', fetch: call, isRemote: false }
  return createMcpEndpoint(gateway, version, log)
}
