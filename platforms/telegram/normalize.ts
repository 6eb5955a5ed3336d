/**
 * From what Telegram sends to what the gateway takes in. Pure, and never throws: a payload that makes no sense is nothing.
 */
import { type ButtonPress, brand, type EventKey, type MessageChange, type MessageEvent, type SessionSource } from '#sdk'
import { type Fields, fieldsOf, idOf, isFields, textOf } from './fields.ts'
import { groupAlbums } from './normalize/album.ts'
import { hasWords, pressOf, reactionsOf, timeOf } from './normalize/changes.ts'
import { type Content, contentOf, oneLine } from './normalize/content.ts'
import { type Addressee, addresseeOf, isHeard, withoutMention } from './normalize/mention.ts'
import { replyOf } from './normalize/reply.ts'
import { nameOf, sourceOf } from './normalize/source.ts'
import type { BotView } from './normalize/view.ts'

type Keys = readonly [EventKey, ...EventKey[]]

export type Intake =
  | {
      readonly kind: 'event'
      readonly event: MessageEvent
      readonly keys: Keys
      /** The messages of an album, each for itself: some may have come in before the others. */
      readonly parts?: readonly { readonly event: MessageEvent; readonly keys: Keys }[]
    }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: Keys }
  /** Without a press the button is none of ours, but the person waits for an answer all the same. */
  | { readonly kind: 'press'; readonly queryId: string; readonly press?: ButtonPress }

/** What is to be handed in for some updates, in their order. */
export function normalize(updates: readonly unknown[], view: BotView): Intake[] {
  return groupAlbums(updates).flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const updateId = idOf(first['update_id'])
    if (updateId === undefined) return []
    if (group.length > 1 || messageIn(first) !== undefined) return written(group, view)
    const edited = first['edited_message'] ?? first['edited_channel_post']
    if (isFields(edited)) return rewritten(updateId, edited, view)
    if (isFields(first['message_reaction'])) return reacted(updateId, first['message_reaction'], view)
    return isFields(first['callback_query']) ? pressed(first['callback_query'], view) : []
  })
}

/** Where things of one chat must keep their order. */
export function chatOf(intake: Intake): string {
  switch (intake.kind) {
    case 'event':
      return intake.event.source.chatId
    case 'change':
      return intake.change.kind === 'edited' ? intake.change.event.source.chatId : intake.change.source.chatId
    case 'press':
      return intake.press?.source.chatId ?? ''
  }
}

interface Part {
  readonly updateId: string
  readonly message: Fields
  readonly content: Content
  readonly addressee: Addressee
}

/** One message, or the messages of an album as one. */
function written(updates: readonly Fields[], view: BotView): Intake[] {
  const parts = updates.flatMap((update) => partOf(update, view))
  const [first] = parts
  const source = first && sourceOf(first.message, view)
  if (first === undefined || source === undefined || source.userId === view.botId) return []
  const said = parts.map(({ addressee }) => addressee)
  const addressee = said.includes('us') ? 'us' : said.includes('elsewhere') ? 'elsewhere' : 'nobody'
  if (!isHeard(source, addressee, view)) return []
  const single = parts.map((part) => ({ event: eventOf(part, source, view), keys: keysOf(part, view) }))
  const [head, ...others] = single
  if (head === undefined) return []
  if (others.length === 0) return [{ kind: 'event', ...head }]
  const all = single.map(({ event }) => event)
  const text = all.flatMap((event) => (event.text === '' ? [] : [event.text])).join('\n')
  const event = { ...head.event, text, attachments: all.flatMap((one) => one.attachments ?? []) }
  return [{ kind: 'event', event, keys: [...head.keys, ...others.flatMap(({ keys }) => keys)], parts: single }]
}

function partOf(update: Fields, view: BotView): Part[] {
  const updateId = idOf(update['update_id'])
  const message = messageIn(update)
  const content = message && contentOf(message)
  if (updateId === undefined || message === undefined || content === undefined) return []
  return [{ updateId, message, content, addressee: addresseeOf(message, content, view) }]
}

function messageIn(update: Fields): Fields | undefined {
  const message = update['message'] ?? update['channel_post']
  return isFields(message) ? message : undefined
}

function eventOf({ message, content }: Omit<Part, 'updateId'>, source: SessionSource, view: BotView): MessageEvent {
  const messageId = idOf(message['message_id'])
  const replyTo = replyOf(message, view.botId)
  const origin = forwardedFrom(message)
  const text = source.chatType === 'dm' ? content.text : withoutMention(content, view)
  const isCommand = content.messageType === 'command' || (content.messageType === 'text' && text.startsWith('/'))
  return {
    source: { ...source, ...(messageId === undefined ? {} : { messageId }) },
    text: origin === undefined ? text : `[Forwarded from ${origin}]\n${text}`,
    messageType: origin !== undefined && isCommand ? 'text' : isCommand ? 'command' : content.messageType,
    ...(messageId === undefined ? {} : { messageId }),
    timestamp: timeOf(message['edit_date'] ?? message['date']),
    ...(content.attachments.length === 0 ? {} : { attachments: content.attachments }),
    ...(replyTo === undefined ? {} : { replyTo }),
    // What others wrote is passed on to be read, not to be obeyed.
    ...(origin === undefined ? {} : { allowGatewayControl: false }),
  }
}

function forwardedFrom(message: Fields): string | undefined {
  const origin = message['forward_origin']
  if (!isFields(origin)) return undefined
  const { sender_user: user, sender_user_name: name, sender_chat: group, chat: channel } = origin
  const from = nameOf(fieldsOf(user)) ?? textOf(name) ?? textOf(fieldsOf(group ?? channel)['title'])
  return from === undefined ? 'somebody' : oneLine(from, 80)
}

function rewritten(updateId: string, message: Fields, view: BotView): Intake[] {
  const source = sourceOf(message, view)
  const content = contentOf(message)
  const of = messageKey(message, view)
  if (!hasWords(message) || source === undefined || content === undefined || of === undefined) return []
  if (source.userId === view.botId) return []
  const event = eventOf({ message, content, addressee: 'us' }, source, view)
  return [{ kind: 'change', change: { kind: 'edited', of, event }, keys: [updateKey(updateId, view)] }]
}

function reacted(updateId: string, reaction: Fields, view: BotView): Intake[] {
  const changes = reactionsOf(reaction, view)
  return changes.map((change, index) => {
    const key = index === 0 ? updateId : `${updateId}:${index + 1}`
    return { kind: 'change', change, keys: [updateKey(key, view)] }
  })
}

function pressed(query: Fields, view: BotView): Intake[] {
  const queryId = textOf(query['id'])
  if (queryId === undefined) return []
  const press = pressOf(query, view)
  return [{ kind: 'press', queryId, ...(press === undefined ? {} : { press }) }]
}

/** The update's own name, and the name by which a later edit finds the message. */
function keysOf({ updateId, message }: Part, view: BotView): Keys {
  const alias = messageKey(message, view)
  return alias === undefined ? [updateKey(updateId, view)] : [updateKey(updateId, view), alias]
}

function updateKey(updateId: string, { botId }: BotView): EventKey {
  return brand<EventKey>(`tg:${botId}:${updateId}`)
}

function messageKey(message: Fields, { botId }: BotView): EventKey | undefined {
  const chatId = idOf(fieldsOf(message['chat'])['id'])
  const messageId = idOf(message['message_id'])
  return chatId === undefined || messageId === undefined
    ? undefined
    : brand<EventKey>(`tg:${botId}:m:${chatId}:${messageId}`)
}
