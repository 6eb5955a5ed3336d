/**
 * An adapter that the gateway's own HTTP server serves, in front of a gateway that only remembers. Not connected yet:
 * its routes come with `connect`.
 */
import { httpConfig } from '../../src/http/config.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { PlatformAdapter, PlatformContext } from '../../src/platforms/adapter.ts'
import { createRecordingContext, type RecordingContext } from './recording-context.ts'

export const token = 'test-token-of-sufficient-length'

export interface ServedAdapter {
  readonly url: string
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  /** One more adapter at the same server, not connected. */
  createAnother(): PlatformAdapter
  /** A request with the token. */
  request(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

export async function serveAdapter(
  platform: string,
  createAdapter: (context: PlatformContext) => PlatformAdapter,
): Promise<ServedAdapter> {
  const gateway = createRecordingContext({ platform })
  const server = createHttpServer({
    settings: httpConfig.http.parse({ port: 0 }),
    token: () => token,
    readiness: () => ({ status: 'ready', platforms: {}, degraded: [] }),
    log: silentLog,
    limits: { graceMs: 0 },
  })
  const lives: PlatformAdapter[] = []
  const make = () => {
    const over = new AbortController()
    const adapter = createAdapter({
      ...gateway.context,
      route: (route) => over.signal.addEventListener('abort', server.route(route)),
    })
    const life: PlatformAdapter = {
      ...adapter,
      async disconnect() {
        await adapter.disconnect()
        // As the gateway does.
        over.abort()
      },
    }
    lives.push(life)
    return life
  }
  const adapter = make()
  const { url } = await server.start()
  return {
    url,
    gateway,
    adapter,
    createAnother: make,
    request: (path, init = {}) =>
      fetch(new URL(path, url), {
        ...init,
        headers: { 'content-type': 'application/json', ...init.headers, authorization: `Bearer ${token}` },
      }),
    async close() {
      for (const life of lives) await life.disconnect()
      await server.stop()
    },
  }
}
