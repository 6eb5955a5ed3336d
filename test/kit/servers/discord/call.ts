/**
 * A call of Discord's REST API as its handlers see it, what they answer, and what they work on.
 */
import type { ReceivedBody } from './body.ts'
import { type Refusal, refusals } from './errors.ts'
import { type Bot, type DiscordGateway, intentBits } from './gateway.ts'
import type { Interactions } from './interactions.ts'
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

export interface RestResponse {
  readonly status: number
  readonly body?: unknown
}

/** A call whose token is right. */
export type BotCall = RestCall & { readonly bot: Bot }

export const done: RestResponse = { status: 204 }

export function ok(body: unknown): RestResponse {
  return { status: 200, body }
}

export function refuse({ status, ...body }: Refusal): RestResponse {
  return { status, body }
}

export function refusalOrNoContent(refusal: Refusal | undefined): RestResponse {
  return refusal === undefined ? done : refuse(refusal)
}

export function inChannel(
  world: World,
  [id = '']: readonly string[],
  act: (channel: Channel) => RestResponse,
): RestResponse {
  const channel = world.channels.get(id)
  return channel === undefined ? refuse(refusals.unknownChannel) : act(channel)
}

export function withMessage(
  world: World,
  params: readonly string[],
  act: (message: Message) => RestResponse,
): RestResponse {
  return inChannel(world, params, ({ id }) => {
    const message = world.message(id, params[1] ?? '')
    return message === undefined ? refuse(refusals.unknownMessage) : act(message)
  })
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
