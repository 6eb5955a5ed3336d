/**
 * The fake platform as the platform contract sees it, with every hand that the contract knows: what the suite can check
 * is checked here at least.
 */
import type { PlatformAdapter, PlatformContext } from '../../../src/platforms/adapter.ts'
import { type FakePlatform, startFakePlatform, type Writing } from '../fake-platform.ts'
import { createAdapter } from '../fake-platform-adapter.ts'
import { createRecordingContext } from '../recording-context.ts'
import type { Conversation, PlatformUnderTest } from './platform-under-test.ts'

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
  const conversation = (thread?: string): Conversation => {
    const place: Writing = thread === undefined ? {} : { thread }
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
    lookOn: async () => undefined,
    again() {
      const next = create(gateway.context)
      lives.push(next)
      return next
    },
    sentCalls: () =>
      ['POST /messages', 'PUT /messages', 'POST /typing'].reduce((sum, of) => sum + platform.calls(of), 0),
    stranger: (text, id) => taken(platform.say(text, { id, user: 'somebody else' })),
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
    async told(text) {
      await platform.until((message) => text.test(message.text))
    },
    breakDown: platform.disconnect,
    interrupt: platform.disconnect,
    restore: platform.reconnect,
    sayAsSelf: (text) => platform.echo(text),
    rateLimit: (ms) => platform.failNext('rate-limited', { retryAfterMs: ms }),
    refuseToken: () => platform.refuseToken(true),
    loseChat: () => platform.loseChat('chat'),
    loseAnswer: platform.loseAnswer,
    deleteOurs: platform.removeShown,
    notModified: platform.answerNotModified,
    async close() {
      // Twice: the defect of an adapter may be that once is not enough.
      for (const life of [...lives, ...lives]) await life.disconnect().catch(() => undefined)
      await platform.close()
    },
  }
}
