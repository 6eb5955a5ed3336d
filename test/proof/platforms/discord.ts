/**
 * Discord for the proof: direct chats with several users, and a server channel in which every message starts a turn.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { type DiscordServer, startDiscordServer } from '../../kit/servers/discord/server.ts'
import type { Channel, Message, User } from '../../kit/servers/discord/world.ts'
import { allChats, chatsOf, draftCursor, newestOf, type Stage, type StageTrouble } from './stage.ts'

const chats = chatsOf('d')
const sends = /^POST \/channels\/:id\/messages$/
const edits = /^PATCH \/channels\/:id\/messages\/:id$/

export async function startDiscordStage(): Promise<Stage> {
  const discord = await startDiscordServer()
  const { world, gateway, faults, general } = discord
  const places = new Map<string, { readonly person: User; readonly channel: Channel }>()
  const names = allChats(chats)
  for (const [index, name] of names.entries()) {
    const person = discord.person(`Person ${index + 1}`)
    // The last busy chat is the channel.
    places.set(name, { person, channel: index === names.length - 1 ? general : discord.dm(person) })
  }
  const newest = new Map<string, Message>()
  const placeOf = (chat: string) => {
    const place = places.get(chat)
    if (place === undefined) throw new Error(`Discord has no chat ${chat}`)
    return place
  }
  const write = (chat: string, text: string) => {
    const { person, channel } = placeOf(chat)
    const message = world.post(channel, person, { content: text })
    newest.set(chat, message)
    return message
  }
  const tell = (message: Message) => gateway.dispatchMessage('MESSAGE_CREATE', message)

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
    answers: {
      broken: { status: 503, body: '<html><body>503 Service Unavailable</body></html>' },
      unauthorised: { status: 401, body: { code: 0, message: '401: Unauthorized' } },
    },
    tellsScope: true,
    longChars: 5_000,
    nameOf: (chat) => placeOf(chat).channel.id,
    say: (chat, text) => tell(write(chat, text)),
    repeat(chat) {
      const message = newest.get(chat)
      if (message !== undefined) tell(message)
    },
    sayReordered(chat, first, second) {
      const late = write(chat, second)
      tell(write(chat, first))
      tell(late)
    },
    lose(chat) {
      const { channel } = placeOf(chat)
      const isThere = (call: { method: string; chat?: string }) => call.chat === channel.id && sends.test(call.method)
      const answer = { status: 403, body: { code: 50001, message: 'Missing Access' } }
      faults.respond(isThere, answer, Number.POSITIVE_INFINITY)
      return () => faults.clear()
    },
    shown: (chat, last) => shownIn(discord, placeOf(chat).channel, chat, last),
    own: troublesOf(discord),
    close: discord.close,
  }
}

function shownIn({ world, bot }: DiscordServer, { id }: Channel, chat: string, last?: number): SentMessage[] {
  return newestOf(world.messages(id), ({ author }) => author.id === bot.user.id, last).map((message) => {
    const { content: text } = message
    return { id: `${chat}:${message.id}`, chat, text, draft: text.endsWith(draftCursor) }
  })
}

function troublesOf({ gateway }: DiscordServer): StageTrouble[] {
  const passing = (name: string, act: () => void): StageTrouble => ({
    name,
    lastsMs: 0,
    async begin() {
      act()
      return () => undefined
    },
  })
  return [
    passing('asked to reconnect (op 7)', gateway.askReconnect),
    passing('session invalid (op 9)', () => {
      gateway.forgetSessions()
      gateway.invalidate(false)
    }),
    passing('cut, session forgotten', () => {
      gateway.forgetSessions()
      gateway.cut()
    }),
    passing('closed with 4000', () => gateway.close(4_000)),
    {
      name: 'cut and turned away',
      lastsMs: 1_500,
      async begin() {
        gateway.turnAway(503)
        gateway.cut()
        return () => gateway.turnAway(0)
      },
    },
  ]
}
