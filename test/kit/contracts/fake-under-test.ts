/**
 * The fake platform as the platform contract sees it, with every hand that the contract knows: what the suite can check
 * is checked here at least.
 */
import type { PlatformAdapter, PlatformContext } from '../../../src/platforms/adapter.ts'
import { type FakePlatform, startFakePlatform, type UserMessage } from '../fake-platform.ts'
import { createAdapter } from '../fake-platform-adapter.ts'
import { createRecordingContext } from '../recording-context.ts'
import type { PlatformUnderTest, TestConversation } from './platform-under-test.ts'

export interface FakeUnderTest extends Required<PlatformUnderTest> {
  readonly platform: FakePlatform
}

export async function fakeUnderTest(): Promise<FakeUnderTest> {
  return fakeWith(createAdapter)
}

/** @param create makes its adapters */
export async function fakeWith(create: (context: PlatformContext) => PlatformAdapter): Promise<FakeUnderTest> {
  const platform = await startFakePlatform('the-token-of-the-fake-platform')
  const gateway = createRecordingContext({ options: { url: platform.url, token: platform.token } })
  const adapter = create(gateway.context)
  const lives = [adapter]
  const taken = (deed: Promise<void>) => deed.then(() => true)
  const conversation = (thread?: string): TestConversation => {
    const place: UserMessage = thread === undefined ? {} : { thread }
    return {
      target: {
        platform: 'fake',
        account: 'default',
        chatId: 'chat',
        ...(thread === undefined ? {} : { threadId: thread }),
      },
      say: (text, id) => taken(platform.say(text, { ...place, id })),
      async seen(text) {
        await platform.until((message) => message.text === text && message.thread === thread)
      },
    }
  }
  return {
    ...conversation(),
    thread: conversation('thread'),
    platform,
    adapter,
    gateway,
    secrets: [platform.token],
    openChat: async () => undefined,
    createAnother() {
      const next = create(gateway.context)
      lives.push(next)
      return next
    },
    sentCalls: () =>
      ['POST /messages', 'PUT /messages', 'POST /typing'].reduce((sum, of) => sum + platform.calls(of), 0),
    sayAsStranger: (text, id) => taken(platform.say(text, { id, user: 'somebody else' })),
    edit: (id, text) => taken(platform.edit(id, text)),
    remove: (id) => taken(platform.remove(id)),
    react: (id, emoji) => taken(platform.react(id, emoji)),
    attach: (file, id) => taken(platform.attach(file, { id })),
    async press(buttonId, messageId) {
      const message = await platform.until(({ id }) => id === messageId)
      const label = message.buttons.find(({ id }) => id === buttonId)?.label ?? ''
      return (await platform.press(message, label)).text
    },
    buttonsSeen: (messageId) =>
      platform
        .shown()
        .filter(({ id }) => id === messageId)
        .flatMap(({ buttons }) => buttons.map(({ label }) => label)),
    async fileSeen(fileName) {
      const { file } = await platform.until((message) => message.file?.fileName === fileName)
      return file?.content ?? ''
    },
    async noticeSeen(text) {
      await platform.until((message) => text.test(message.text))
    },
    makeUnreachable: platform.disconnect,
    interrupt: platform.disconnect,
    restore: platform.reconnect,
    sayAsSelf: (text) => platform.echo(text),
    rateLimit: (ms) => platform.failNext('rate-limited', { retryAfterMs: ms }),
    refuseToken: () => platform.refuseToken(true),
    loseChat: () => platform.loseChat('chat'),
    dropResponse: platform.dropResponse,
    deleteOwnMessage: platform.removeShown,
    answerNotModified: platform.answerNotModified,
    async close() {
      // Twice: the defect of an adapter may be that once is not enough.
      for (const life of [...lives, ...lives]) await life.disconnect().catch(() => undefined)
      await platform.close()
    },
  }
}
