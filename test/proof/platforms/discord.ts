/**
 * Discord for the proof: direct chats with several users, and a server channel in which every message starts a turn.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { type DiscordServer, startDiscordServer } from '../../kit/servers/discord/server.ts'
import type { Channel, Message, User } from '../../kit/servers/discord/world.ts'
import { allChats, chatsOf, draftCursor, newestOf, type PlatformFault, type TestPlatform } from './test-platform.ts'

const chats = chatsOf('d')
const sends = /^POST \/channels\/:id\/messages$/
const edits = /^PATCH \/channels\/:id\/messages\/:id$/

export async function startDiscordPlatform(): Promise<TestPlatform> {
  const discord = await startDiscordServer()
  const { world, gateway, faults, general } = discord
  const chatsByName = new Map<string, { readonly person: User; readonly channel: Channel }>()
  const names = allChats(chats)
  for (const [index, name] of names.entries()) {
    const person = discord.person(`Person ${index + 1}`)
    // The last busy chat is the channel.
    chatsByName.set(name, { person, channel: index === names.length - 1 ? general : discord.dm(person) })
  }
  const newest = new Map<string, Message>()
  const chatOf = (name: string) => {
    const chat = chatsByName.get(name)
    if (chat === undefined) throw new Error(`Discord has no chat ${name}`)
    return chat
  }
  const write = (chat: string, text: string) => {
    const { person, channel } = chatOf(chat)
    const message = world.post(channel, person, { content: text })
    newest.set(chat, message)
    return message
  }
  const deliver = (message: Message) => gateway.dispatchMessage('MESSAGE_CREATE', message)

  return {
    platform: 'discord',
    config: {
      token: discord.bot.token,
      api_url: discord.apiUrl,
      allow_from: ['*'],
      free_response_channels: [general.id],
    },
    chats,
    faults,
    calls: { send: sends, edit: edits, counted: /^(POST|PATCH) \/channels\/:id\/messages/ },
    responses: {
      broken: { status: 503, body: '<html><body>503 Service Unavailable</body></html>' },
      unauthorised: { status: 401, body: { code: 0, message: '401: Unauthorized' } },
    },
    reportsScope: true,
    findsDrafts: true,
    longChars: 5_000,
    vendorIdOf: (chat) => chatOf(chat).channel.id,
    say: (chat, text) => deliver(write(chat, text)),
    repeat(chat) {
      const message = newest.get(chat)
      if (message !== undefined) deliver(message)
    },
    sayReordered(chat, first, second) {
      const late = write(chat, second)
      deliver(write(chat, first))
      deliver(late)
    },
    revokeAccess(chat) {
      const { channel } = chatOf(chat)
      const isSendToChat = (call: { method: string; chat?: string | undefined }) =>
        call.chat === channel.id && sends.test(call.method)
      const answer = { status: 403, body: { code: 50001, message: 'Missing Access' } }
      faults.respond(isSendToChat, answer, Number.POSITIVE_INFINITY)
      return () => faults.clear()
    },
    sentMessages: (chat, last) => sentMessagesOf(discord, chatOf(chat).channel, chat, last),
    ownFaults: platformFaultsOf(discord),
    close: discord.close,
  }
}

function sentMessagesOf({ world, bot }: DiscordServer, { id }: Channel, chat: string, last?: number): SentMessage[] {
  return newestOf(world.messages(id), ({ author }) => author.id === bot.user.id, last).map((message) => {
    const { content: text } = message
    return { id: `${chat}:${message.id}`, chat, text, draft: text.endsWith(draftCursor) }
  })
}

function platformFaultsOf({ gateway }: DiscordServer): PlatformFault[] {
  const momentaryFault = (name: string, act: () => void): PlatformFault => ({
    name,
    durationMs: 0,
    async start() {
      act()
      return () => undefined
    },
  })
  return [
    momentaryFault('asked to reconnect (op 7)', gateway.askReconnect),
    momentaryFault('session invalid (op 9)', () => {
      gateway.forgetSessions()
      gateway.invalidate(false)
    }),
    momentaryFault('cut, session forgotten', () => {
      gateway.forgetSessions()
      gateway.cut()
    }),
    momentaryFault('closed with 4000', () => gateway.close(4_000)),
    {
      name: 'cut and refused',
      durationMs: 1_500,
      async start() {
        gateway.turnAway(503)
        gateway.cut()
        return () => gateway.turnAway(0)
      },
    },
  ]
}
