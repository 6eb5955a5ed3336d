/**
 * Parses interactions: slash commands and buttons. Each has a token of its own and requires a response within three
 * seconds. Pure.
 */
import type { ButtonPress, EventKey, MessageEvent } from '#sdk'
import { isChannelAllowed } from './addressing.ts'
import { messageKey, type NormalizeContext, sourceOf } from './normalize.ts'
import { asRecord, idAt, type JsonRecord, nonEmptyTextAt, numberAt, recordAt, recordsAt } from './payload.ts'
import { snowflakeToTime } from './snowflake.ts'
import { channelContextOf } from './source.ts'

export type Interaction = { readonly id: string; readonly token: string } & (
  | {
      readonly kind: 'command'
      readonly event: MessageEvent
      readonly keys: readonly [EventKey]
      readonly line: string
    }
  | { readonly kind: 'press'; readonly press: ButtonPress }
  /** In a channel where the bot does not respond, or of a kind that the bot never offers. */
  | { readonly kind: 'unwanted' }
)

const commandType = 2
const componentType = 3
const buttonComponentType = 2

/** Undefined without id or token, which a response requires. Never throws. */
export function parseInteraction(data: JsonRecord, view: NormalizeContext): Interaction | undefined {
  const id = idAt(data, 'id')
  const token = nonEmptyTextAt(data, 'token')
  if (id === undefined || token === undefined) return undefined
  return { id, token, ...parseContent(data, id, view) }
}

type InteractionContent = Interaction extends infer One
  ? One extends unknown
    ? Omit<One, 'id' | 'token'>
    : never
  : never

function parseContent(data: JsonRecord, id: string, view: NormalizeContext): InteractionContent {
  const member = recordAt(data, 'member')
  const user = recordAt(member, 'user') ?? recordAt(data, 'user')
  const channel = channelContextOf(data, view.guildCache.channel(idAt(data, 'channel_id') ?? ''))
  if (channel === undefined || idAt(user, 'id') === undefined || !isChannelAllowed(channel, view.options))
    return unwantedInteraction
  const source = sourceOf(channel, user, member, view)
  const what = asRecord(data['data'])
  switch (numberAt(data, 'type')) {
    case commandType: {
      const line = toCommandLine(what)
      if (line === undefined) return unwantedInteraction
      const event: MessageEvent = { source, text: line, messageType: 'command', timestamp: snowflakeToTime(id) }
      return { kind: 'command', event, keys: [messageKey(id)], line }
    }
    case componentType: {
      const buttonId = nonEmptyTextAt(what, 'custom_id')
      const messageId = idAt(recordAt(data, 'message'), 'id')
      if (
        buttonId === undefined ||
        messageId === undefined ||
        numberAt(what, 'component_type') !== buttonComponentType
      ) {
        return unwantedInteraction
      }
      return { kind: 'press', press: { source: { ...source, messageId }, buttonId, messageId } }
    }
    default:
      return unwantedInteraction
  }
}

const unwantedInteraction: InteractionContent = { kind: 'unwanted' }

/** The command in the form in which a user would type it. */
function toCommandLine(data: JsonRecord): string | undefined {
  const name = nonEmptyTextAt(data, 'name')
  if (name === undefined) return undefined
  const values = recordsAt(data, 'options').flatMap((option) => nonEmptyTextAt(option, 'value')?.trim() ?? [])
  return [`/${name}`, ...values].join(' ')
}

/** A message that only the user of the interaction sees. */
export function ephemeralMessage(content: string): JsonRecord {
  return { content, flags: 64, allowed_mentions: { parse: [] } }
}

/** Discord's types of responses to an interaction. */
export const callbackTypes = {
  message: 4,
  /** "… is thinking": the message follows. */
  laterMessage: 5,
  /** Acknowledges a button; its message changes later. */
  laterUpdate: 6,
} as const
