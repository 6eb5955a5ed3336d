/**
 * An adapter behind the HTTP server of the gateway, with a recording context. Its routes are registered by `connect`.
 */
import { httpConfig } from '../../src/http/config.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { PlatformAdapter } from '../../src/platforms/adapter.ts'
import type { PlatformContext } from '../../src/platforms/context.ts'
import { createRecordingContext, type RecordingContext, type RecordingOptions } from './recording-context.ts'

export const token = 'test-token-of-sufficient-length'

export interface ServedAdapter {
  readonly url: string
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  /** Creates another adapter at the same server. It is not connected. */
  createAnother(): PlatformAdapter
  /** A request with the token. */
  request(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

export async function serveAdapter(
  platform: string,
  createAdapter: (context: PlatformContext) => PlatformAdapter,
  options: Pick<RecordingOptions, 'mediaFolder'> = {},
): Promise<ServedAdapter> {
  const gateway = createRecordingContext({ platform, ...options })
  const server = createHttpServer({
    settings: httpConfig.http.parse({ port: 0 }),
    allowed: () => httpConfig.http.parse({}),
    token: () => token,
    readiness: { lifecycle: { phase: 'ready' }, platforms: () => ({}), degraded: () => [], isConnecting: () => false },
    log: silentLog,
    limits: { graceMs: 0 },
  })
  for (const path of ['/api/uploads', '/api/uploads/{upload_id}'])
    for (const method of ['GET', 'POST'] as const)
      server.route({ method, path, access: 'token', handle: gateway.upload })
  const adapters: PlatformAdapter[] = []
  const create = () => {
    const disconnected = new AbortController()
    const adapter = createAdapter({
      ...gateway.context,
      route: (route) => disconnected.signal.addEventListener('abort', server.route(route)),
    })
    const served: PlatformAdapter = {
      ...adapter,
      async disconnect() {
        await adapter.disconnect()
        // The gateway removes routes after the disconnect.
        disconnected.abort()
      },
    }
    adapters.push(served)
    return served
  }
  const adapter = create()
  const { url } = await server.start()
  return {
    url,
    gateway,
    adapter,
    createAnother: create,
    request: (path, init = {}) =>
      fetch(new URL(path, url), {
        ...init,
        headers: { 'content-type': 'application/json', ...init.headers, authorization: `Bearer ${token}` },
      }),
    async close() {
      for (const served of adapters) await served.disconnect()
      await server.stop()
    },
  }
}
