/**
 * Discord's REST API, version 10: the routes that a chat bot uses, with their answers and refusals.
 */
import type { ReceivedBody } from './body.ts'
import { type Refusal, refusals } from './errors.ts'
import type { Bot, DiscordGateway } from './gateway.ts'
import { intentBits } from './gateway.ts'
import type { Interactions } from './interactions.ts'
import { commandsRefusal, listOf, refusalOf } from './validate.ts'
import type { Channel, Message, World } from './world.ts'

export interface RestDeps {
  readonly world: World
  readonly gateway: DiscordGateway
  readonly interactions: Interactions
  readonly gatewayUrl: () => string
  /** Where files are fetched. */
  readonly filesUrl: () => string
  /** Files by their path. */
  readonly files: Map<string, Buffer>
  readonly typing: string[]
  /** Application id → what is registered. */
  readonly commands: Map<string, readonly Readonly<Record<string, unknown>>[]>
  readonly counts: { commandPuts: number; deduplicated: number }
  /** So long a nonce is remembered, ms. */
  readonly nonceMs: number
  /** The newest message of each nonce. */
  readonly nonces: Map<string, { readonly message: Message; readonly at: number }>
}

export interface RestCall {
  readonly route: string
  readonly params: readonly string[]
  readonly query: URLSearchParams
  readonly body: ReceivedBody
  /** Undefined where no token came along. */
  readonly bot: Bot | undefined
}

export interface RestAnswer {
  readonly status: number
  readonly body?: unknown
}

type Handler = (call: RestCall & { readonly bot: Bot }, deps: RestDeps) => RestAnswer

const routes: readonly (readonly [route: string, handler: Handler])[] = [
  [
    'GET /gateway/bot',
    (_call, { gatewayUrl, gateway }) => ok({ url: gatewayUrl(), shards: 1, session_start_limit: { ...gateway.limit } }),
  ],
  ['GET /users/@me', ({ bot }) => ok({ ...bot.user, verified: true, mfa_enabled: false, flags: 0 })],
  [
    'GET /applications/@me',
    ({ bot }) =>
      ok({
        id: bot.applicationId,
        name: bot.user.username,
        bot: bot.user,
        approximate_guild_count: 1,
        flags: (bot.intents & intentBits.messageContent) === 0 ? 0 : 1 << 19,
      }),
  ],
  [
    'GET /channels/:id',
    ({ params, bot }, { world }) => inChannel(world, params, (one) => ok(world.shownChannel(one, bot.user))),
  ],
  [
    'GET /channels/:id/messages',
    ({ params, query }, { world }) => inChannel(world, params, (one) => page(world, one, query)),
  ],
  [
    'GET /channels/:id/messages/:id',
    ({ params }, { world }) => withMessage(world, params, (one) => ok(world.shown(one))),
  ],
  ['POST /channels/:id/messages', createMessage],
  ['PATCH /channels/:id/messages/:id', editMessage],
  ['DELETE /channels/:id/messages/:id', deleteMessage],
  [
    'POST /channels/:id/typing',
    ({ params }, { world, typing }) =>
      inChannel(world, params, ({ id }) => {
        typing.push(id)
        return done
      }),
  ],
  ['POST /channels/:id/messages/:id/threads', startThread],
  ['PUT /channels/:id/messages/:id/reactions/:emoji/@me', (call, deps) => react(call, deps, true)],
  ['DELETE /channels/:id/messages/:id/reactions/:emoji/@me', (call, deps) => react(call, deps, false)],
  [
    'GET /guilds/:id/members/:id',
    ({ params }, { world }) => {
      const user = world.users.get(params[1] ?? '')
      return user === undefined ? refuse(refusals.unknownMember) : ok({ user, ...world.member(user.id) })
    },
  ],
  ['GET /applications/:id/commands', ({ params }, { commands }) => ok(commands.get(params[0] ?? '') ?? [])],
  ['PUT /applications/:id/commands', setCommands],
  [
    'POST /attachments/refresh-urls',
    ({ body }) => {
      const urls = Array.isArray(body.json['attachment_urls']) ? body.json['attachment_urls'].map(String) : []
      return ok({ refreshed_urls: urls.map((original) => ({ original, refreshed: freshened(original) })) })
    },
  ],
]

/** These carry their right in the address. */
const tokenRoutes: readonly (readonly [route: string, handler: (call: RestCall, deps: RestDeps) => RestAnswer])[] = [
  [
    'POST /interactions/:id/:token/callback',
    ({ params: [id = '', token = ''], body }, { interactions }) => orDone(interactions.answer(id, token, body.json)),
  ],
  [
    'PATCH /webhooks/:id/:token/messages/@original',
    ({ params, body }, { interactions }) => orDone(interactions.follow(params[1] ?? '', body.json)),
  ],
  [
    'POST /webhooks/:id/:token',
    ({ params, body }, { interactions }) => orDone(interactions.follow(params[1] ?? '', body.json)),
  ],
]

const patterns = [...routes, ...tokenRoutes].map(([route]) => {
  const [method = '', path = ''] = route.split(' ')
  const source = path.replace(/:[a-z]+/g, '([^/]+)')
  return { route, method, path: new RegExp(`^${source}$`) }
})

/** Which route a call is for, and what stands in the places of its parameters. */
export function findRoute(method: string, path: string): { route: string; params: readonly string[] } | undefined {
  for (const pattern of patterns) {
    const match = pattern.method === method ? pattern.path.exec(path) : null
    if (match !== null) return { route: pattern.route, params: match.slice(1).map(decodeURIComponent) }
  }
  return undefined
}

export function answerCall(call: RestCall, deps: RestDeps): RestAnswer {
  const open = tokenRoutes.find(([route]) => route === call.route)
  if (open !== undefined) return open[1](call, deps)
  const { bot } = call
  if (bot === undefined) return refuse(refusals.unauthorised)
  const handler = routes.find(([route]) => route === call.route)?.[1]
  return handler === undefined ? refuse(refusals.notFound) : handler({ ...call, bot }, deps)
}

function createMessage({ params, body, bot }: RestCall & { bot: Bot }, deps: RestDeps): RestAnswer {
  const { world, gateway, counts } = deps
  return inChannel(world, params, (channel) => {
    const refusal = refusalOf(body, true)
    if (refusal !== undefined) return refuse(refusal)
    const { json } = body
    const nonce = typeof json['nonce'] === 'string' || typeof json['nonce'] === 'number' ? json['nonce'] : undefined
    const known =
      nonce === undefined || json['enforce_nonce'] !== true ? undefined : deps.nonces.get(`${bot.user.id} ${nonce}`)
    if (known !== undefined && Date.now() - known.at < deps.nonceMs) {
      counts.deduplicated += 1
      return ok(world.shown(known.message, true))
    }
    const reference = json['message_reference']
    const message = world.post(channel, bot.user, {
      // Discord trims what it shows.
      content: typeof json['content'] === 'string' ? json['content'].trim() : '',
      flags: Number(json['flags'] ?? 0),
      ...(nonce === undefined ? {} : { nonce }),
      ...(isObject(reference) && world.message(channel.id, String(reference['message_id']))
        ? { message_reference: reference }
        : {}),
      attachments: attachmentsOf(body, channel, deps),
      embeds: listOf(json, 'embeds'),
      components: listOf(json, 'components'),
      extra: { allowed_mentions: json['allowed_mentions'] },
    })
    if (nonce !== undefined) deps.nonces.set(`${bot.user.id} ${nonce}`, { message, at: Date.now() })
    channel.members?.add(bot.user.id)
    gateway.dispatchMessage('MESSAGE_CREATE', message)
    return ok(world.shown(message, true))
  })
}

function attachmentsOf({ json, files }: ReceivedBody, channel: Channel, deps: RestDeps): Record<string, unknown>[] {
  const metadata = listOf(json, 'attachments')
  return [...files].map(([number, { name, type, bytes }]) => {
    const id = deps.world.id()
    const path = `/files/${channel.id}/${id}/${encodeURIComponent(name)}`
    deps.files.set(path, bytes)
    const { id: _number, ...facts } = metadata.find((one) => one['id'] === number) ?? {}
    return { ...facts, id, filename: name, content_type: type, size: bytes.length, url: `${deps.filesUrl()}${path}` }
  })
}

function editMessage({ params, body, bot }: RestCall & { bot: Bot }, { world, gateway }: RestDeps): RestAnswer {
  return withMessage(world, params, (message) => {
    if (message.author.id !== bot.user.id) return refuse(refusals.otherAuthor)
    const refusal = refusalOf(body, false)
    if (refusal !== undefined) return refuse(refusal)
    const { json } = body
    if (json['content'] === '' && message.attachments.length === 0 && message.embeds.length === 0)
      return refuse(refusals.empty)
    if (typeof json['content'] === 'string') message.content = json['content'].trim()
    if (Array.isArray(json['components'])) message.components = json['components']
    message.edited_timestamp = new Date().toISOString()
    gateway.dispatchMessage('MESSAGE_UPDATE', message)
    return ok(world.shown(message))
  })
}

function deleteMessage({ params }: RestCall & { bot: Bot }, { world, gateway }: RestDeps): RestAnswer {
  return withMessage(world, params, ({ id, channel_id }) => {
    world.remove(channel_id, id)
    announce(world, gateway, channel_id, 'MESSAGE_DELETE', { id })
    return done
  })
}

function startThread({ params, body, bot }: RestCall & { bot: Bot }, { world, gateway }: RestDeps): RestAnswer {
  return withMessage(world, params, (message) => {
    const parent = world.channels.get(message.channel_id)
    const name = body.json['name']
    if (parent === undefined || (parent.type !== 0 && parent.type !== 5)) {
      return refuse({ status: 400, code: 50024, message: 'Cannot execute action on this channel type' })
    }
    if (world.channels.has(message.id)) return refuse(refusals.threadExists)
    if (typeof name !== 'string' || name.length < 1 || name.length > 100) {
      return refuse({ status: 400, code: 50035, message: 'Invalid Form Body' })
    }
    const thread = world.thread(parent, name, bot.user, message.id)
    const shown = world.shownChannel(thread, bot.user)
    message.flags |= 1 << 5
    gateway.dispatch(bot, 'THREAD_CREATE', { ...shown, newly_created: true }, intentBits.guilds)
    gateway.dispatchMessage('MESSAGE_UPDATE', message)
    return { status: 201, body: shown }
  })
}

function react({ params, bot }: RestCall & { bot: Bot }, { world, gateway }: RestDeps, add: boolean): RestAnswer {
  const emoji = params[2] ?? ''
  return withMessage(world, params, (message) => {
    const who = message.reactions.get(emoji) ?? new Set()
    if (add) message.reactions.set(emoji, who.add(bot.user.id))
    else who.delete(bot.user.id)
    if (who.size === 0) message.reactions.delete(emoji)
    announce(world, gateway, message.channel_id, add ? 'MESSAGE_REACTION_ADD' : 'MESSAGE_REACTION_REMOVE', {
      user_id: bot.user.id,
      message_id: message.id,
      emoji: { id: null, name: emoji },
      burst: false,
      type: 0,
    })
    return done
  })
}

function setCommands({ params, body }: RestCall, { world, commands, counts }: RestDeps): RestAnswer {
  const application = params[0] ?? ''
  const refusal = commandsRefusal(body.list)
  if (refusal !== undefined) return refuse(refusal)
  counts.commandPuts += 1
  const known = body.list.map((command) => ({
    ...command,
    id: world.id(),
    application_id: application,
    version: world.id(),
    default_member_permissions: null,
    nsfw: false,
    // What is empty is left out.
    ...(listOf(command, 'options').length === 0 ? { options: undefined } : {}),
  }))
  commands.set(application, known)
  return ok(known)
}

/** Tells every bot of something that happened in a channel. */
export function announce(
  world: World,
  gateway: DiscordGateway,
  channelId: string,
  t: string,
  data: Readonly<Record<string, unknown>>,
): void {
  const channel = world.channels.get(channelId)
  const isReaction = t.startsWith('MESSAGE_REACTION')
  const isDirect = channel?.type === 1
  const intent = isReaction
    ? isDirect
      ? intentBits.directReactions
      : intentBits.guildReactions
    : isDirect
      ? intentBits.directMessages
      : intentBits.guildMessages
  const guild = channel?.guild_id === undefined ? {} : { guild_id: channel.guild_id }
  for (const bot of gateway.bots) gateway.dispatch(bot, t, { ...data, channel_id: channelId, ...guild }, intent)
}

/** Newest first; `after` gives those that follow it most closely. */
function page(world: World, { id }: Channel, query: URLSearchParams): RestAnswer {
  const limit = Number(query.get('limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    return refuse({ status: 400, code: 50035, message: 'Invalid Form Body' })
  }
  const after = query.get('after')
  const all = world.messages(id)
  const chosen = after === null ? all.slice(-limit) : all.filter((one) => isLater(one.id, after)).slice(0, limit)
  return ok(chosen.toReversed().map((message) => world.shown(message)))
}

function isLater(id: string, than: string): boolean {
  return BigInt(id) > BigInt(than)
}

function inChannel(world: World, [id = '']: readonly string[], act: (channel: Channel) => RestAnswer): RestAnswer {
  const channel = world.channels.get(id)
  return channel === undefined ? refuse(refusals.unknownChannel) : act(channel)
}

function withMessage(world: World, params: readonly string[], act: (message: Message) => RestAnswer): RestAnswer {
  return inChannel(world, params, ({ id }) => {
    const message = world.message(id, params[1] ?? '')
    return message === undefined ? refuse(refusals.unknownMessage) : act(message)
  })
}

function freshened(url: string): string {
  const fresh = new URL(url)
  fresh.searchParams.set('ex', Math.floor(Date.now() / 1_000 + 86_400).toString(16))
  return fresh.href
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const done: RestAnswer = { status: 204 }

function ok(body: unknown): RestAnswer {
  return { status: 200, body }
}

function refuse({ status, ...body }: Refusal): RestAnswer {
  return { status, body }
}

function orDone(refusal: Refusal | undefined): RestAnswer {
  return refusal === undefined ? done : refuse(refusal)
}
