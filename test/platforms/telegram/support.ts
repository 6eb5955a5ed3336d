/**
 * The real adapter in front of the local Bot API, with a gateway that only remembers. A test connects it.
 */
import type { TestContext } from 'node:test'
import { createAdapter } from '../../../platforms/telegram/adapter.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import { createRecordingContext, type RecordingContext } from '../../kit/recording-context.ts'
import {
  startTelegramServer,
  type TelegramServer,
  type TelegramServerOptions,
} from '../../kit/servers/telegram-server.ts'

export const target = { platform: 'telegram', account: 'default', chatId: '42' }
export const { signal } = new AbortController()

export interface TelegramTest {
  readonly server: TelegramServer
  readonly gateway: RecordingContext
  readonly adapter: PlatformAdapter
  /** One more adapter of the same account. */
  createAnother(): PlatformAdapter
  close(): Promise<void>
}

export interface TelegramTestOptions {
  readonly server?: TelegramServerOptions
  /** Beside token and `api_root`. */
  readonly options?: Readonly<Record<string, unknown>>
  readonly account?: string
}

export async function createTelegramTest({
  server: setup = {},
  options = {},
  account = 'default',
}: TelegramTestOptions = {}): Promise<TelegramTest> {
  const server = await startTelegramServer(setup)
  const gateway = createRecordingContext({
    platform: 'telegram',
    account,
    options: { token: server.bot.token, api_root: server.url, ...options },
  })
  const lives: PlatformAdapter[] = []
  const createAnother = () => {
    const adapter = createAdapter(gateway.context)
    lives.push(adapter)
    return adapter
  }
  return {
    server,
    gateway,
    adapter: createAnother(),
    createAnother,
    async close() {
      for (const life of lives) await life.disconnect()
      await server.close()
    },
  }
}

/** The same, connected, until the test ends. */
export async function startTelegramTest(t: TestContext, options: TelegramTestOptions = {}): Promise<TelegramTest> {
  const chat = await createTelegramTest(options)
  t.after(chat.close)
  await chat.adapter.connect(signal)
  return chat
}
