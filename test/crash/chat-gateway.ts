/**
 * A gateway to be killed (`gateway.ts`) with the chat server of the crash tests and a model server.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { prepareHome } from './chat-home.ts'
import { type ChatServer, type SentMessage, startChatServer } from './chat-server.ts'
import { type CrashGateway, createCrashGateway } from './gateway.ts'

export interface ChatGateway {
  readonly home: string
  readonly chat: ChatServer
  readonly gateway: CrashGateway
  /** Resolves when `done` returns true for the messages of the chat server. Rejects with them and the log. */
  untilSent(what: string, done: (messages: readonly SentMessage[]) => boolean): Promise<void>
  /** Kills what still runs and removes the home. */
  dispose(): Promise<void>
}

export interface ChatGatewayOptions {
  /** The reply of the model. */
  reply(request: RecordedRequest, places: { readonly home: string; readonly chat: ChatServer }): ModelReply
}

export async function createChatGateway({ reply }: ChatGatewayOptions): Promise<ChatGateway> {
  const home = await mkdtemp(join(tmpdir(), 'hermes-crash-'))
  const chat = await startChatServer()
  const model = await startOpenAiServer({
    defaultReply: (request) => reply(request, { home, chat }),
    record: false,
  })
  await prepareHome(home, chat.url, model.baseUrl)
  const gateway = createCrashGateway(home)
  return {
    home,
    chat,
    gateway,
    async untilSent(what, done) {
      try {
        await gateway.until(what, chat.until(done))
      } catch (error) {
        throw new Error(`${what} was not sent: ${JSON.stringify(chat.messages)}`, { cause: error })
      }
    },
    async dispose() {
      await gateway.dispose()
      await chat.close()
      await model.stop()
      await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** One that ends with the test. Nothing is started. */
export async function testChatGateway(
  t: TestContext,
  reply: ChatGatewayOptions['reply'],
): Promise<Omit<ChatGateway, 'dispose'>> {
  const created = await createChatGateway({ reply })
  t.after(created.dispose)
  return created
}
