/**
 * Discord for the platform contract: the real adapter in a server channel where it responds to everything, and in a thread
 * of that channel.
 */
import { setImmediate as nextRound } from 'node:timers/promises'
import { createAdapter } from '../../../platforms/discord/adapter.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformUnderTest, TestConversation } from '../../kit/contracts/platform-under-test.ts'
import { createRecordingContext } from '../../kit/recording-context.ts'
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import type { Channel, Message, NewMessage, User } from '../../kit/servers/discord/world.ts'
import { fastTiming, optionsFor } from './support.ts'

const create = 'POST /channels/:id/messages'

export async function discordUnderTest(): Promise<PlatformUnderTest> {
  const discord = await startDiscordServer()
  const { world, general, faults, bot } = discord
  const ada = discord.person('Ada')
  const ideas = world.thread(general, 'Ideas', ada)
  const gateway = createRecordingContext({
    platform: 'discord',
    options: optionsFor(discord, bot, { free_response_channels: [general.id] }),
  })
  const adapters: PlatformAdapter[] = []
  const createAnother = () => {
    const adapter = createAdapter(gateway.context, fastTiming)
    adapters.push(adapter)
    return adapter
  }
  const said = new Map<string, Message>()

  /** Resolves when the message was ingested, or when its author was told why it was not. */
  async function write(who: User, where: Channel, id: string, text: string, more: NewMessage = {}): Promise<boolean> {
    const known = said.get(id)
    const handed = (key: string) => gateway.ingestedEvents.filter(({ keys }) => keys.some((one) => one === key)).length
    const before = known === undefined ? 0 : handed(`dc:${known.id}`)
    const message = known ?? discord.say(who, where, text, more)
    said.set(id, message)
    if (known !== undefined) discord.gateway.dispatchMessage('MESSAGE_CREATE', known)
    const explained = discord.until((one) => one.message_reference?.['message_id'] === message.id)
    while (handed(`dc:${message.id}`) === before) {
      const first = await Promise.race([gateway.nextEvent(), explained.then(() => undefined)])
      if (first === undefined) break
    }
    return true
  }

  /** Resolves when the change was ingested. */
  async function change(act: () => void): Promise<boolean> {
    const before = gateway.changes.length
    const attempt = gateway.nextAttempt()
    act()
    await attempt
    // Without a limit, a change that does not arrive would keep this process alive for ever.
    for (let rounds = 0; gateway.changes.length === before && rounds < 100_000; rounds++) await nextRound()
    return true
  }

  const conversation = (where: Channel, threadId?: string): TestConversation => ({
    target: {
      platform: 'discord',
      account: 'default',
      chatId: general.id,
      ...(threadId === undefined ? {} : { threadId }),
    },
    say: (text, id) => write(ada, where, id, text),
    seen: async (text) => {
      await discord.until((message) => message.channel_id === where.id && message.content === text)
    },
  })
  const ofId = (id: string) => {
    const message = said.get(id)
    if (message === undefined) throw new Error(`nothing was said under ${id}`)
    return message
  }
  const ours = (messageId: string) => {
    const message = world.message(general.id, messageId)
    if (message === undefined) throw new Error(`there is no message ${messageId}`)
    return message
  }

  return {
    ...conversation(general),
    adapter: createAnother(),
    gateway,
    createAnother,
    thread: conversation(ideas, ideas.id),
    secrets: [bot.token],
    sentCalls: () => faults.calls(/^(POST|PATCH|PUT) \/channels\//),
    sayAsStranger: (text, id) => write(discord.person('Eve'), general, id, text),
    edit: (id, text) => change(() => discord.edit(ofId(id), text)),
    remove: (id) => change(() => discord.remove(ofId(id))),
    react: (id, emoji) => change(() => discord.react(ada, ofId(id), emoji)),
    attach: ({ fileName, mimeType, bytes }, id) =>
      write(ada, general, id, '', { attachments: [discord.file(fileName, mimeType, bytes)] }),
    press: (buttonId, messageId) => discord.press(ada, ours(messageId), buttonId),
    buttonsSeen: (messageId) =>
      ours(messageId).components.flatMap(({ components }) =>
        Array.isArray(components) ? components.map(({ label }) => String(label)) : [],
      ),
    async fileSeen(fileName) {
      const message = await discord.until(({ attachments, embeds }) => {
        return attachments.some(({ filename }) => filename === fileName) || embeds.length > 0
      })
      const url = message.attachments[0]?.['url']
      if (typeof url !== 'string') return JSON.stringify(message.embeds)
      return discord.fileOf(url) ?? ''
    },
    albumsShown: () =>
      world
        .messages(general.id)
        .filter(({ attachments }) => attachments.length > 1)
        .map(({ attachments }) => attachments.map(({ url }) => discord.fileOf(String(url)) ?? Buffer.of())),
    async noticeSeen(text) {
      await discord.until(({ content }) => text.test(content))
    },
    sayAsSelf: async (text) => discord.say(bot.user, general, text),
    makeUnreachable: () => faults.startOutage('refuse'),
    interrupt() {
      discord.gateway.turnAway(503)
      discord.gateway.cut()
    },
    restore: () => discord.gateway.turnAway(0),
    rateLimit: (ms) => void faults.limit({ on: create, ms }),
    refuseToken() {
      bot.token = 'another token'
    },
    loseChat: () => void world.channels.delete(general.id),
    dropResponse: () => faults.dropResponse(create),
    // Discord accepts an edit without changes like any other.
    answerNotModified: () => undefined,
    deleteOwnMessage: (messageId) => void world.remove(general.id, messageId),
    async close() {
      for (const adapter of adapters) await adapter.disconnect()
      await discord.close()
    },
  }
}
