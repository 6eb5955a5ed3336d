/**
 * Interactions: a slash command that was chosen, or a button that was pressed. They come with a token of their own, and
 * want an answer within three seconds. Pure.
 */
import type { ButtonPress, EventKey, MessageEvent } from '#sdk'
import { listensIn } from './addressing.ts'
import { messageKey, sourceOf, type View } from './normalize.ts'
import { placeOf } from './place.ts'
import { timeOf } from './snowflake.ts'
import { asObject, idAt, type Json, numberAt, objectAt, objectsAt, wordsAt } from './wire.ts'

export type Interaction = { readonly id: string; readonly token: string } & (
  | {
      readonly kind: 'command'
      readonly event: MessageEvent
      readonly keys: readonly [EventKey]
      readonly line: string
    }
  | { readonly kind: 'press'; readonly press: ButtonPress }
  /** In a channel where the bot does not listen, or of a kind that we never offer. */
  | { readonly kind: 'unwanted' }
)

const commandType = 2
const componentType = 3
const button = 2

/** Undefined where nobody could be answered: without id or token. Never throws. */
export function readInteraction(data: Json, view: View): Interaction | undefined {
  const id = idAt(data, 'id')
  const token = wordsAt(data, 'token')
  if (id === undefined || token === undefined) return undefined
  return { id, token, ...contentOf(data, id, view) }
}

type Content = Interaction extends infer One ? (One extends unknown ? Omit<One, 'id' | 'token'> : never) : never

function contentOf(data: Json, id: string, view: View): Content {
  const member = objectAt(data, 'member')
  const user = objectAt(member, 'user') ?? objectAt(data, 'user')
  const place = placeOf(data, view.directory.channel(idAt(data, 'channel_id') ?? ''))
  if (place === undefined || idAt(user, 'id') === undefined || !listensIn(place, view.options)) return unwanted
  const source = sourceOf(place, user, member, view)
  const what = asObject(data['data'])
  switch (numberAt(data, 'type')) {
    case commandType: {
      const line = commandLine(what)
      if (line === undefined) return unwanted
      const event: MessageEvent = { source, text: line, messageType: 'command', timestamp: timeOf(id) }
      return { kind: 'command', event, keys: [messageKey(id)], line }
    }
    case componentType: {
      const buttonId = wordsAt(what, 'custom_id')
      const messageId = idAt(objectAt(data, 'message'), 'id')
      if (buttonId === undefined || messageId === undefined || numberAt(what, 'component_type') !== button) {
        return unwanted
      }
      return { kind: 'press', press: { source: { ...source, messageId }, buttonId, messageId } }
    }
    default:
      return unwanted
  }
}

const unwanted: Content = { kind: 'unwanted' }

/** The command as somebody would have typed it. */
function commandLine(data: Json): string | undefined {
  const name = wordsAt(data, 'name')
  if (name === undefined) return undefined
  const values = objectsAt(data, 'options').flatMap((option) => wordsAt(option, 'value')?.trim() ?? [])
  return [`/${name}`, ...values].join(' ')
}

/** What the person is told, visible to nobody else. */
export function privately(content: string): Json {
  return { content, flags: 64, allowed_mentions: { parse: [] } }
}

/** Discord's numbers of answers to an interaction. */
export const callbacks = {
  message: 4,
  /** "… is thinking": the message follows. */
  laterMessage: 5,
  /** Nothing changes for now. */
  laterUpdate: 6,
} as const
