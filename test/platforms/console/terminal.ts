/**
 * The console platform behind the real HTTP server, as `hermes chat` meets it.
 */

import { createAdapter } from '../../../platforms/console/adapter.ts'
import { type ChatClient, createChatClient } from '../../../src/cli/chat-client.ts'
import { httpConfig } from '../../../src/http/config.ts'
import { createHttpServer } from '../../../src/http/server.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import { createRecordingContext, type RecordingContext } from '../../kit/recording-context.ts'

export const token = 'test-token-of-sufficient-length'
export const chat = 'chat-1'
export const target = { platform: 'cli', account: 'default', chatId: chat }

export interface Terminal {
  readonly url: string
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  readonly client: ChatClient
  ask(path: string, init?: RequestInit): Promise<Response>
  close(): Promise<void>
}

/** The adapter is made but not connected: its routes come with `connect`. */
export async function openTerminal(): Promise<Terminal> {
  const gateway = createRecordingContext({ platform: 'cli' })
  const server = createHttpServer({
    settings: httpConfig.http.parse({ port: 0 }),
    token: () => token,
    readiness: () => ({ status: 'ready', platforms: {}, degraded: [] }),
    log: silentLog,
    limits: { graceMs: 0 },
  })
  const adapter = createAdapter({ ...gateway.context, route: (route) => void server.route(route) })
  const { url } = await server.start()
  const client = createChatClient({ baseUrl: url, token, fetch, chat })
  return {
    url,
    gateway,
    adapter,
    client,
    ask: (path, init) => fetch(new URL(path, url), { ...init, headers: { authorization: `Bearer ${token}` } }),
    async close() {
      await adapter.disconnect()
      await server.stop()
    },
  }
}
