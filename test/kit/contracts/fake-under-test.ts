/**
 * The fake platform as a platform under test with all capabilities, so that no promise is skipped.
 */
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformContext } from '../../../src/platforms/context.ts'
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

/** @param create creates its adapters */
export async function fakeWith(create: (context: PlatformContext) => PlatformAdapter): Promise<FakeUnderTest> {
  const platform = await startFakePlatform('the-token-of-the-fake-platform')
  const gateway = createRecordingContext({ options: { url: platform.url, token: platform.token } })
  const adapter = create(gateway.context)
  const adapters = [adapter]
  const acknowledged = (action: Promise<void>) => action.then(() => true)
  const conversation = (thread?: string): TestConversation => {
    const options: UserMessage = thread === undefined ? {} : { thread }
    return {
      target: {
        platform: 'fake',
        account: 'default',
        chatId: 'chat',
        ...(thread === undefined ? {} : { threadId: thread }),
      },
      say: (text, id) => acknowledged(platform.say(text, { ...options, id })),
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
      adapters.push(next)
      return next
    },
    sentCalls: () =>
      ['POST /messages', 'POST /albums', 'PUT /messages', 'POST /typing'].reduce(
        (sum, of) => sum + platform.calls(of),
        0,
      ),
    sayAsStranger: (text, id) => acknowledged(platform.say(text, { id, user: 'another user' })),
    edit: (id, text) => acknowledged(platform.edit(id, text)),
    remove: (id) => acknowledged(platform.remove(id)),
    react: (id, emoji) => acknowledged(platform.react(id, emoji)),
    attach: (file, id) => acknowledged(platform.attach(file, { id })),
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
    albumsShown() {
      const files = platform.shown().flatMap(({ album, file }) => {
        return album === undefined || file === undefined || typeof file.content === 'string'
          ? []
          : [{ album, content: file.content }]
      })
      return [...Map.groupBy(files, ({ album }) => album).values()].map((group) => group.map(({ content }) => content))
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
      // Twice, because one of the defects ignores the first call.
      for (const one of [...adapters, ...adapters]) await one.disconnect().catch(() => undefined)
      await platform.close()
    },
  }
}
