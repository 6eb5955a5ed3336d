/**
 * Composes `/mcp`, which calls the JSON API of its own gateway without a connection. Loaded with its first request.
 */
import type { ApiRequestInit } from '../clients/mcp-server/gateway-api.ts'
import { createMcpEndpoint } from '../clients/mcp-server/http-endpoint.ts'
import { toErrorResponse } from '../http/json-response.ts'
import { createRouteTable } from '../http/route-table.ts'
import { HermesError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { HttpRoute } from '../platforms/adapter.ts'

export interface ComposeMcpEndpointDeps {
  /** The routes of the JSON API. */
  readonly routes: readonly HttpRoute[]
  readonly version: string
  readonly log: Logger
}

export function composeMcpEndpoint({ routes, version, log }: ComposeMcpEndpointDeps): HttpRoute['handle'] {
  const table = createRouteTable()
  for (const route of routes) table.add({ route, alwaysAvailable: true })

  async function call(path: string, { method = 'GET', body, signal }: ApiRequestInit): Promise<Response> {
    const url = new URL(path, 'http://gateway.invalid')
    const entry = table.find(url.pathname)?.get(method)
    try {
      if (entry === undefined) throw new HermesError('http/not-found', url.pathname)
      const content = body === undefined ? {} : { body: JSON.stringify(body) }
      return await entry.route.handle(new Request(url, { method, signal, ...content }))
    } catch (error) {
      if (signal.aborted) throw error
      const { status, body: answer } = toErrorResponse(error, true)
      if (status >= 500)
        log.error({ event: 'mcp.call_failed', path: url.pathname, err: error }, 'a call of an MCP client failed')
      return Response.json(answer, { status })
    }
  }
  return createMcpEndpoint({ api: { fetch: call, isRemote: false }, version, log })
}
