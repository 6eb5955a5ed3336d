/**
 * A local Discord server: its REST API, its gateway, its files, and functions that act as users.
 *
 *     const discord = await startDiscordServer()
 *     const ada = discord.person('Ada')
 *     discord.say(ada, discord.dm(ada), 'hello')
 *     await discord.until(({ content }) => content === 'Hello, Ada.')
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createFaults, type Faults } from '../faults.ts'
import { readBody } from './body.ts'
import { createBuckets, tooMany } from './buckets.ts'
import { announce, type RestDeps } from './call.ts'
import { refusals } from './errors.ts'
import { attachGateway, type Bot, type DiscordGateway, intentBits } from './gateway.ts'
import { createInteractions } from './interactions.ts'
import { findRoute, handleCall } from './rest.ts'
import { type Channel, createWorld, type Message, type NewMessage, type User, type World } from './world.ts'

export interface DiscordServerOptions {
  /** Discord uses 41,250. */
  readonly heartbeatMs?: number
  /** Names of bots in addition to `Hermes`. */
  readonly bots?: readonly string[]
  /** Whether Message Content Intent is turned on. Default: true. */
  readonly messageContent?: boolean
  /** The resume URL. Default: the URL of the gateway. */
  readonly resumeUrl?: string
  /** How many sessions a bot may start in five seconds. Default: 1. */
  readonly sessionsAtOnce?: number
  /** How long a nonce is remembered, ms. Default: five minutes. */
  readonly nonceMs?: number
  /** The time of new messages. Default: the system's. */
  readonly now?: () => number
}

export interface DiscordServer {
  /** For `api_url`. */
  readonly apiUrl: string
  readonly bot: Bot
  /** All bots by name. */
  readonly bots: ReadonlyMap<string, Bot>
  readonly world: World
  readonly gateway: DiscordGateway
  readonly faults: Faults
  readonly buckets: ReturnType<typeof createBuckets>
  /** The channel `#general` of the server. */
  readonly general: Channel
  person(name: string): User
  dm(person: User, bot?: Bot): Channel
  /** A user writes a message. Returns at once. */
  say(person: User, channel: Channel, text: string, more?: NewMessage): Message
  /** The author edits a message. */
  edit(message: Message, text: string): void
  /** Discord adds a link preview: sends an update of the unchanged message. */
  unfurl(message: Message): void
  remove(message: Message): void
  react(person: User, message: Message, emoji: string, add?: boolean): void
  /** A file of a user, to be sent with `attachments`. */
  file(name: string, type: string, bytes: Uint8Array): Record<string, unknown>
  /** A user chooses a slash command. Resolves with the response. */
  choose(person: User, channel: Channel, name: string, args?: string): Promise<string>
  /** A user presses a button. Resolves with the response. */
  press(person: User, message: Message, customId: string): Promise<string>
  /** The messages of the bots in a channel, or everywhere, oldest first. */
  sent(channel?: string): Message[]
  /** Resolves with the first matching message of a bot, now or later. */
  until(fits: (message: Message) => boolean): Promise<Message>
  /** Calls `look` after each call and its response, and after a connection was opened, sent a frame or was closed. */
  onChange(look: () => void): () => void
  /** The channels in which typing was shown, in order. */
  readonly typing: readonly string[]
  commandsOf(bot?: Bot): readonly Readonly<Record<string, unknown>>[]
  readonly counts: { readonly commandPuts: number; readonly deduplicated: number }
  fileOf(url: string): Buffer | undefined
  close(): Promise<void>
}

export async function startDiscordServer(options: DiscordServerOptions = {}): Promise<DiscordServer> {
  const world = createWorld(options.now)
  const interactions = createInteractions()
  const buckets = createBuckets()
  const faults = createFaults({
    tooMany: (waitMs, { scope }) => tooMany(waitMs, scope === 'account' ? 'global' : 'user'),
  })
  const bots = new Map(['Hermes', ...(options.bots ?? [])].map((name) => [name, makeBot(world, name, options)]))
  const [bot] = bots.values()
  if (bot === undefined) throw new Error('there is no bot')
  const general = world.channel('general', 0, { topic: 'Everything' })
  const watchers = new Set<() => void>()
  const changed = () => {
    for (const look of [...watchers]) look()
  }
  let port = 0

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error))
  })
  faults.watch(server)
  faults.onCall(changed)
  const gateway = attachGateway(server, {
    heartbeatMs: options.heartbeatMs ?? 41_250,
    world,
    changed,
    bots: [...bots.values()],
    url: () => options.resumeUrl ?? `ws://127.0.0.1:${port}/gateway`,
  })
  gateway.limit.max_concurrency = options.sessionsAtOnce ?? 1
  const deps: RestDeps = {
    world,
    gateway,
    interactions,
    gatewayUrl: () => `ws://127.0.0.1:${port}/gateway`,
    filesUrl: () => `http://127.0.0.1:${port}`,
    files: new Map(),
    typing: [],
    commands: new Map(),
    counts: { commandPuts: 0, deduplicated: 0 },
    nonceMs: options.nonceMs ?? 300_000,
    nonces: new Map(),
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address === 'object' && address !== null) port = address.port

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://discord')
    const file = deps.files.get(pathname)
    if (file !== undefined) return void response.end(file)
    const found = findRoute(request.method ?? '', pathname.replace(/^\/api\/v10(?=\/)/, ''))
    const body = await readBody(request)
    if (found === undefined || !pathname.startsWith('/api/v10/')) return reply(response, 404, refusals.notFound)
    const { route, params } = found
    const channel = route.includes('/channels/') ? params[0] : undefined
    const met = await faults.intercept({ method: route, ...(channel === undefined ? {} : { chat: channel }) }, response)
    if (met === 'answered') return
    const { waitMs, headers } = buckets.take(route, channel ?? '')
    if (waitMs > 0) {
      const refusal = tooMany(waitMs, 'user')
      return reply(response, refusal.status, refusal.body, { ...headers, ...refusal.headers })
    }
    if (body === undefined) return reply(response, 400, refusals.badJson, headers)
    const token = /^Bot (.+)$/.exec(request.headers.authorization ?? '')?.[1]
    const caller = [...bots.values()].find((one) => one.token === token)
    const { status, body: said } = handleCall({ route, params, query: searchParams, body, bot: caller }, deps)
    if (met === 'lose-answer') faults.cut(response)
    else reply(response, status, said, headers)
    changed()
  }

  const own = new Set([...bots.values()].map(({ user }) => user.id))
  const sent = (channel?: string) =>
    [...world.channels.values()]
      .filter(({ id }) => channel === undefined || id === channel)
      .flatMap(({ id }) => world.messages(id).filter(({ author }) => own.has(author.id)))
      .sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1))

  /** A user acts through an interaction. Resolves with the response. */
  function interact(person: User, channel: Channel, type: number, more: Readonly<Record<string, unknown>>, whose: Bot) {
    const { id, token } = interactions.begin(world.id())
    const isDirect = channel.type === 1
    gateway.dispatch(
      whose,
      'INTERACTION_CREATE',
      {
        id,
        token,
        type,
        version: 1,
        application_id: whose.applicationId,
        channel_id: channel.id,
        channel: world.shownChannel(channel, person),
        locale: 'en-GB',
        entitlements: [],
        authorizing_integration_owners: { 0: channel.guild_id ?? '0' },
        context: isDirect ? 1 : 0,
        app_permissions: '2248473465835073',
        attachment_size_limit: 10_485_760,
        ...(isDirect
          ? { user: person }
          : { guild_id: channel.guild_id, member: { user: person, ...world.member(person.id) } }),
        ...more,
      },
      0,
    )
    return interactions.words(token)
  }

  return {
    apiUrl: `http://127.0.0.1:${port}/api`,
    bot,
    bots,
    world,
    gateway,
    faults,
    buckets,
    general,
    typing: deps.typing,
    counts: deps.counts,
    person: (name) => world.user(name),
    dm: (person, whose = bot) => world.dm(whose.user, person),
    say(person, channel, text, more = {}) {
      const message = world.post(channel, person, { content: text, ...more })
      gateway.dispatchMessage('MESSAGE_CREATE', message)
      return message
    },
    edit(message, text) {
      message.content = text
      // Two edits within a millisecond are two: people are slower than a test.
      const last = message.edited_timestamp === null ? 0 : Date.parse(message.edited_timestamp)
      message.edited_timestamp = new Date(Math.max(Date.now(), last + 1)).toISOString()
      gateway.dispatchMessage('MESSAGE_UPDATE', message)
    },
    unfurl(message) {
      message.embeds = [{ type: 'link', url: 'https://example.org', title: 'Example' }]
      gateway.dispatchMessage('MESSAGE_UPDATE', message)
    },
    remove(message) {
      world.remove(message.channel_id, message.id)
      announce(world, gateway, message.channel_id, 'MESSAGE_DELETE', { id: message.id })
    },
    react(person, message, emoji, add = true) {
      const guild = world.channels.get(message.channel_id)?.guild_id
      announce(world, gateway, message.channel_id, add ? 'MESSAGE_REACTION_ADD' : 'MESSAGE_REACTION_REMOVE', {
        user_id: person.id,
        message_id: message.id,
        emoji: { id: null, name: emoji },
        burst: false,
        type: 0,
        ...(add ? { message_author_id: message.author.id } : {}),
        ...(add && guild !== undefined ? { member: { user: person, ...world.member(person.id) } } : {}),
      })
    },
    file(name, type, bytes) {
      const id = world.id()
      const path = `/files/0/${id}/${encodeURIComponent(name)}`
      deps.files.set(path, Buffer.from(bytes))
      const url = `http://127.0.0.1:${port}${path}`
      return { id, filename: name, content_type: type, size: bytes.length, url, proxy_url: url }
    },
    choose: (person, channel, name, args) =>
      interact(
        person,
        channel,
        2,
        {
          data: {
            id: world.id(),
            name,
            type: 1,
            ...(args === undefined ? {} : { options: [{ name: 'args', type: 3, value: args }] }),
          },
        },
        bot,
      ),
    press(person, message, customId) {
      const channel = world.channels.get(message.channel_id)
      if (channel === undefined) throw new Error('the message lies nowhere')
      const whose = [...bots.values()].find(({ user }) => user.id === message.author.id) ?? bot
      const shown = { ...world.shown(message), channel_id: channel.id }
      return interact(person, channel, 3, { message: shown, data: { custom_id: customId, component_type: 2 } }, whose)
    },
    sent,
    until(fits) {
      const { promise, resolve } = Promise.withResolvers<Message>()
      const look = () => {
        const found = sent().find(fits)
        if (found === undefined) return
        watchers.delete(look)
        resolve(found)
      }
      watchers.add(look)
      look()
      return promise
    },
    onChange(look) {
      watchers.add(look)
      return () => void watchers.delete(look)
    },
    commandsOf: (whose = bot) => deps.commands.get(whose.applicationId) ?? [],
    fileOf: (url) => deps.files.get(new URL(url).pathname),
    close: () => faults.close(),
  }
}

function makeBot(world: World, name: string, { messageContent = true }: DiscordServerOptions): Bot {
  const user = world.user(name, true)
  world.role(name, user.id)
  const token = `${Buffer.from(user.id).toString('base64url')}.token-of-${name}.${user.id}`
  return { user, applicationId: user.id, token, intents: messageContent ? intentBits.messageContent : 0 }
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (status === 204) {
    response.writeHead(204, headers).end()
    return
  }
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(body ?? {}))
}
