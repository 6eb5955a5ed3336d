/**
 * The local servers of the chat platforms with any number of users. Each user has a direct chat with the bot.
 */
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import { startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { startTelegramServer } from '../../kit/servers/telegram-server.ts'

export const vendorNames = ['telegram', 'discord', 'slack'] as const
export type VendorName = (typeof vendorNames)[number]

export interface Vendor {
  /** The configuration of an account. */
  readonly options: Readonly<Record<string, string>>
  /** The user with this number writes. */
  say(person: number, text: string): void
  /** Calls `listener` with the user whose chat a message of the bot has reached. */
  onReply(listener: (person: number) => void): void
  /** The number of API calls so far. */
  calls(): number
}

export function startVendor(name: VendorName): Promise<Vendor> {
  return { telegram, discord, slack }[name]()
}

async function telegram(): Promise<Vendor> {
  const { url, bot, faults } = await startTelegramServer()
  const first = 1_000
  return {
    options: { token: bot.token, api_root: url },
    say(person, text) {
      const chat = first + person
      bot.chats.add({ id: chat, type: 'private' })
      bot.say(text, { chat, from: { id: chat, first_name: `Person ${person}` } })
    },
    onReply(listener) {
      faults.onCall(({ method, chat }) => {
        if (method === 'sendMessage') listener(Number(chat) - first)
      })
    },
    calls: () => faults.calls(),
  }
}

async function discord(): Promise<Vendor> {
  const server = await startDiscordServer()
  const people = new Map<
    number,
    { readonly user: ReturnType<typeof server.person>; readonly channel: ReturnType<typeof server.dm> }
  >()
  const persons = new Map<string, number>()
  const chatOf = (person: number) => {
    const known = people.get(person)
    if (known !== undefined) return known
    const user = server.person(`Person ${person}`)
    const made = { user, channel: server.dm(user) }
    people.set(person, made)
    persons.set(made.channel.id, person)
    return made
  }
  return {
    options: { token: server.bot.token, api_url: server.apiUrl },
    say(person, text) {
      const { user, channel } = chatOf(person)
      server.say(user, channel, text)
    },
    onReply(listener) {
      server.faults.onCall(({ method, chat = '' }) => {
        const person = persons.get(chat)
        if (method === 'POST /channels/:id/messages' && person !== undefined) listener(person)
      })
    },
    calls: () => server.faults.calls(),
  }
}

async function slack(): Promise<Vendor> {
  const server = await startSlackServer()
  return {
    options: { bot_token: server.botToken, app_token: server.appToken, api_url: server.apiUrl },
    say(person, text) {
      const [channel, user] = [`D${person}`, `U${person}`]
      if (server.workspace.channel(channel) === undefined) {
        server.workspace.addUser(user, `Person ${person}`)
        server.workspace.addChannel(channel, 'im')
      }
      // The server repeats events that a bot does not acknowledge, so the call is not awaited.
      server.say(channel, user, text).catch((error) => process.stderr.write(`${error}\n`))
    },
    onReply(listener) {
      server.faults.onCall(({ method, chat = '' }) => {
        if (method === 'chat.postMessage') listener(Number(chat.slice(1)))
      })
    },
    calls: () => server.faults.calls(),
  }
}
