/**
 * Types of the REST API: a call, its response, and the state that handlers use.
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
  /** Base URL of files. */
  readonly filesUrl: () => string
  /** Files by path. */
  readonly files: Map<string, Buffer>
  readonly typing: string[]
  /** Registered commands by application id. */
  readonly commands: Map<string, readonly Readonly<Record<string, unknown>>[]>
  readonly counts: { commandPuts: number; deduplicated: number }
  /** How long a nonce is remembered, ms. */
  readonly nonceMs: number
  /** The newest message of each nonce. */
  readonly nonces: Map<string, { readonly message: Message; readonly at: number }>
}

export interface RestCall {
  readonly route: string
  readonly params: readonly string[]
  readonly query: URLSearchParams
  readonly body: ReceivedBody
  /** Undefined without a token. */
  readonly bot: Bot | undefined
}

export interface RestResponse {
  readonly status: number
  readonly body?: unknown
}

/** A call with a valid token. */
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

/** Sends an event of a channel to every bot. */
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
