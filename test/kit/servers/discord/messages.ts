/**
 * The routes of messages, their threads and reactions.
 */
import type { ReceivedBody } from './body.ts'
import {
  announce,
  type BotCall,
  done,
  inChannel,
  ok,
  type RestDeps,
  type RestResponse,
  refuse,
  withMessage,
} from './call.ts'
import { refusals } from './errors.ts'
import { intentBits } from './gateway.ts'
import { listOf, validateMessage } from './validate.ts'
import type { Channel, World } from './world.ts'

export function createMessage({ params, body, bot }: BotCall, deps: RestDeps): RestResponse {
  const { world, gateway, counts } = deps
  return inChannel(world, params, (channel) => {
    const refusal = validateMessage(body, true)
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
      // Discord trims the content.
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

export function editMessage({ params, body, bot }: BotCall, { world, gateway }: RestDeps): RestResponse {
  return withMessage(world, params, (message) => {
    if (message.author.id !== bot.user.id) return refuse(refusals.otherAuthor)
    const refusal = validateMessage(body, false)
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

export function deleteMessage({ params }: BotCall, { world, gateway }: RestDeps): RestResponse {
  return withMessage(world, params, ({ id, channel_id }) => {
    world.remove(channel_id, id)
    announce(world, gateway, channel_id, 'MESSAGE_DELETE', { id })
    return done
  })
}

export function startThread({ params, body, bot }: BotCall, { world, gateway }: RestDeps): RestResponse {
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

export function react({ params, bot }: BotCall, { world, gateway }: RestDeps, add: boolean): RestResponse {
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

/** Newest first. `after` selects the messages that follow it directly, `before` those that precede it directly. */
export function messagePage(world: World, { id }: Channel, query: URLSearchParams): RestResponse {
  const limit = Number(query.get('limit') ?? 50)
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) {
    return refuse({ status: 400, code: 50035, message: 'Invalid Form Body' })
  }
  const after = query.get('after')
  const before = query.get('before')
  const all = world.messages(id).filter((one) => before === null || isLater(before, one.id))
  const chosen = after === null ? all.slice(-limit) : all.filter((one) => isLater(one.id, after)).slice(0, limit)
  return ok(chosen.toReversed().map((message) => world.shown(message)))
}

function isLater(id: string, than: string): boolean {
  return BigInt(id) > BigInt(than)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
