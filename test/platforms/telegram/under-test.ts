/**
 * Telegram as the platform contract sees it.
 */
import type { PlatformUnderTest, TestConversation, UserFile } from '../../kit/contracts/platform-under-test.ts'
import type { SentUpdate, UserMessage } from '../../kit/servers/telegram/bot.ts'
import { ApiError, asRecord } from '../../kit/servers/telegram/params.ts'
import { defaultUser, type TelegramServer } from '../../kit/servers/telegram-server.ts'
import { createTelegramTest, target } from './support.ts'

/** A forum in which every message counts. */
const forum = -1_001_234
const topic = 7

const sends = /^send(Message|MediaGroup)$/

export async function telegramUnderTest(): Promise<PlatformUnderTest> {
  const { server, gateway, adapter, createAnother, close } = await createTelegramTest({
    options: { free_response_chats: [String(forum)] },
  })
  const { bot, faults } = server
  bot.chats.add({ id: forum, type: 'supergroup', title: 'Forum', is_forum: true, topics: [topic] })
  const people = peopleOf(server)
  const ours = (messageId: string) => bot.chats.shown.find(({ id }) => String(id) === messageId)
  return {
    ...people.in({}),
    target,
    thread: {
      ...people.in({ chat: forum, thread: topic }),
      target: { ...target, chatId: String(forum), threadId: String(topic) },
    },
    adapter,
    gateway,
    createAnother,
    close,
    secrets: [bot.token],
    sentCalls: () => faults.calls(/^(send|edit|delete)/),
    sayAsStranger: (text, id) => people.say(text, id, { from: { id: 99, first_name: 'Mallory' } }),
    edit: (id, text) => people.edit(id, text),
    react: (id, emoji) => people.react(id, emoji),
    attach: (file, id) => people.attach(file, id),
    press: (buttonId, messageId) => bot.press(Number(messageId), buttonId),
    buttonsSeen: (messageId) => (ours(messageId)?.keyboard ?? []).flat().map(({ text }) => text),
    async fileSeen(fileName) {
      const { file } = await bot.chats.until((message) => message.file?.name === fileName)
      return file?.bytes ?? file?.url ?? ''
    },
    albumsShown() {
      const files = bot.chats.shown.flatMap(({ album, file }) => {
        return album === undefined || file?.bytes === undefined ? [] : [{ album, bytes: file.bytes }]
      })
      return [...Map.groupBy(files, ({ album }) => album).values()].map((group) => group.map(({ bytes }) => bytes))
    },
    async noticeSeen(text) {
      await bot.chats.until((message) => text.test(message.text))
    },
    makeUnreachable: () => faults.startOutage('refuse'),
    interrupt: () => faults.startOutage('cut'),
    restore: () => faults.endOutage(),
    sayAsSelf: (text) => bot.say(text, { from: { id: bot.id, is_bot: true, first_name: 'Hermes' } }).confirmed,
    rateLimit: (ms) => void faults.limit({ on: sends, ms }),
    refuseToken() {
      const body = { ok: false, error_code: 401, description: 'Unauthorized' }
      faults.respond(/./, { status: 401, body }, Number.POSITIVE_INFINITY)
    },
    loseChat() {
      bot.chats.chat(defaultUser.id).gone = new ApiError(403, 'Forbidden: bot was blocked by the user')
    },
    dropResponse: () => faults.dropResponse(sends),
    deleteOwnMessage: (messageId) => bot.chats.forget(defaultUser.id, Number(messageId)),
    // The server compares by itself.
    answerNotModified: () => undefined,
  }
}

/** People write under names that the test gives them. */
function peopleOf({ bot }: TelegramServer) {
  const sent = new Map<string, SentUpdate>()
  const isConfirmed = async ({ confirmed }: SentUpdate) => {
    await confirmed
    return true
  }
  const say = (text: string, id: string, writing: UserMessage) => {
    const before = sent.get(id)
    if (before !== undefined) return bot.delivery.repeat(before.update).then(() => true)
    const now = bot.say(text, writing)
    sent.set(id, now)
    return isConfirmed(now)
  }
  const messageOf = (id: string) => asRecord(sent.get(id)?.update['message'])
  return {
    say,
    in: (writing: UserMessage): Omit<TestConversation, 'target'> => ({
      say: (text, id) => say(text, id, writing),
      async seen(text) {
        await bot.chats.until((message) => message.text === text && message.thread === writing.thread)
      },
    }),
    edit: (id: string, text: string) =>
      isConfirmed(bot.push({ edited_message: { ...messageOf(id), text, edit_date: Math.floor(Date.now() / 1_000) } })),
    react(id: string, emoji: string) {
      const { message_id, chat, from: user, date } = messageOf(id)
      const reaction = { old_reaction: [], new_reaction: [{ type: 'emoji', emoji }] }
      return isConfirmed(bot.push({ message_reaction: { chat, message_id, user, date, ...reaction } }))
    },
    attach({ kind, fileName, mimeType, bytes }: UserFile, id: string) {
      const file = {
        file_id: bot.files.add(bytes, fileName.slice(fileName.lastIndexOf('.'))),
        file_unique_id: 'unique',
        file_size: bytes.length,
      }
      const photo = [
        { ...file, file_id: 'thumbnail', width: 90, height: 90 },
        { ...file, width: 800, height: 800 },
      ]
      const fields =
        kind === 'photo' ? { photo } : { [kind]: { ...file, file_name: fileName, mime_type: mimeType, duration: 1 } }
      return say('', id, { fields })
    },
  }
}
