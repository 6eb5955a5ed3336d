/**
 * Converts updates of the Bot API into what the gateway accepts: messages, changes of messages, button presses. Pure.
 */
import {
  type Attachment,
  type ButtonPress,
  brand,
  createLineFilter,
  type EventKey,
  isRecord,
  type MessageChange,
  type MessageEvent,
  type SessionSource,
} from '#sdk'
import { groupAlbums } from './albums.ts'
import { toButtonPress, toReactionChanges } from './changes.ts'
import type { MessageContent } from './content.ts'
import {
  type Addressee,
  addresseeOf,
  contentOf,
  externalQuoteOf,
  type NormalizeContext,
  originOf,
  quotedAttachmentsOf,
  replyOf,
  shouldProcess,
  sourceOf,
  timeOf,
  withoutMention,
} from './message.ts'
import { asId, asRecord, asText, isAlbumPart, type JsonRecord, newMessageOf } from './payload.ts'

type EventKeys = readonly [EventKey, ...EventKey[]]

export type InboundEvent =
  | {
      readonly kind: 'event'
      readonly event: MessageEvent
      readonly keys: EventKeys
      /** The messages of an album one by one, because some of them may have been accepted before the others arrived. */
      readonly parts?: readonly { readonly event: MessageEvent; readonly keys: EventKeys }[]
    }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: EventKeys }
  /** `press` is absent when the gateway did not create the button. Telegram expects an answer in either case. */
  | { readonly kind: 'press'; readonly queryId: string; readonly press?: ButtonPress | undefined }

/** Events in the order of the updates. */
export function normalize(updates: readonly unknown[], context: NormalizeContext): InboundEvent[] {
  const groups = updates.some(isAlbumPart) ? groupAlbums(updates) : updates.filter(isRecord).map((update) => [update])
  return groups.flatMap((group) => normalizeGroup(group, context))
}

/** A group is one update, or all messages of an album. */
function normalizeGroup(group: readonly JsonRecord[], context: NormalizeContext): InboundEvent[] {
  const [first] = group
  const updateId = asId(first?.['update_id'])
  if (first === undefined || updateId === undefined) return []
  if (newMessageOf(first) !== undefined) return normalizeMessages(group, context)
  const edited = first['edited_message'] ?? first['edited_channel_post']
  if (isRecord(edited)) return normalizeEdit(updateId, edited, context)
  if (isRecord(first['message_reaction'])) return normalizeReactions(updateId, first['message_reaction'], context)
  return isRecord(first['callback_query']) ? normalizePress(first['callback_query'], context) : []
}

/** The chat of an event. Events of one chat are accepted in order. */
export function chatIdOf(event: InboundEvent): string {
  switch (event.kind) {
    case 'event':
      return event.event.source.chatId
    case 'change':
      return event.change.kind === 'edited' ? event.change.event.source.chatId : event.change.source.chatId
    case 'press':
      return event.press?.source.chatId ?? ''
  }
}

interface AlbumPart {
  readonly updateId: string
  readonly message: JsonRecord
  readonly content: MessageContent
  readonly addressee: Addressee
}

/** One message, or the messages of an album merged into one event. */
function normalizeMessages(updates: readonly JsonRecord[], context: NormalizeContext): InboundEvent[] {
  const parts = updates.flatMap((update) => toAlbumParts(update, context))
  const [first] = parts
  const source = first && sourceOf(first.message, context)
  if (first === undefined || source === undefined || source.userId === context.botId) return []
  const addressees = parts.map((part) => part.addressee)
  const addressee = (['us', 'other-bot'] as const).find((kind) => addressees.includes(kind)) ?? 'none'
  if (!shouldProcess(source, addressee, context)) return []
  const single = parts.map((part) => ({ event: toMessageEvent(part, source, context), keys: keysOf(part, context) }))
  const [head, ...others] = single
  if (head === undefined) return []
  if (others.length === 0) return [{ kind: 'event', ...head }]
  const all = single.map(({ event }) => event)
  const text = all.flatMap((event) => (event.text === '' ? [] : [event.text])).join('\n')
  const event = { ...head.event, text, attachments: mergeAttachments(all) }
  return [{ kind: 'event', event, keys: [...head.keys, ...others.flatMap(({ keys }) => keys)], parts: single }]
}

/** Each message of an album replies to the same message, whose files belong to the event once. */
function mergeAttachments(parts: readonly MessageEvent[]): readonly Attachment[] {
  const attached = parts.flatMap(({ attachments = [] }) => attachments.filter(({ quoted }) => quoted !== true))
  return [...attached, ...(parts[0]?.attachments ?? []).filter(({ quoted }) => quoted === true)]
}

function toAlbumParts(update: JsonRecord, context: NormalizeContext): AlbumPart[] {
  const updateId = asId(update['update_id'])
  const message = newMessageOf(update)
  const content = message && contentOf(message)
  if (updateId === undefined || message === undefined || content === undefined) return []
  return [{ updateId, message, content, addressee: addresseeOf(message, content, context) }]
}

function toMessageEvent(
  { message, content }: Omit<AlbumPart, 'updateId'>,
  source: SessionSource,
  context: NormalizeContext,
): MessageEvent {
  const messageId = asId(message['message_id'])
  const replyTo = replyOf(message, context.botId)
  const origin = originOf(message['forward_origin'])
  const attachments = [...content.attachments, ...quotedAttachmentsOf(message)]
  const shown = source.chatType === 'dm' ? content.text : withoutMention(content, context)
  const text = textOf(message, shown)
  const ownText = withLine(origin === undefined ? undefined : `[Forwarded from ${origin}]`, text)
  const isCommand = content.messageType === 'command' || (content.messageType === 'text' && text.startsWith('/'))
  return {
    source: { ...source, messageId },
    text: isCommand ? ownText : withLine(externalQuoteOf(message), ownText),
    messageType: origin !== undefined && isCommand ? 'text' : isCommand ? 'command' : content.messageType,
    messageId,
    timestamp: timeOf(message['edit_date'] ?? message['date']),
    ...(attachments.length === 0 ? {} : { attachments }),
    replyTo,
    // The author of a forwarded text is a different person, so it must not run commands.
    ...(origin === undefined ? {} : { allowGatewayControl: false }),
  }
}

/** Only the adapter says where a text comes from. */
const origins = ['Forwarded from', 'In reply to']
const withoutOrigins = createLineFilter({ brackets: origins })
/** It also describes what is no text. */
const withoutDescriptions = createLineFilter({
  brackets: [
    ...origins,
    ...['Location:', 'Live location:', 'Venue:', 'Contact:', 'Poll:', 'Checklist:', 'Dice ', 'Game:', 'Story]'],
    ...['Sticker]', 'Data of the web app:'],
  ],
})

/** Most texts have none, and run no filter. */
const anyBracket = /[[［⁅⟦【〔﹝]/

/** The text that a person has written, or the description of the content. */
function textOf(message: JsonRecord, shown: string): string {
  if (!anyBracket.test(shown)) return shown
  const isWritten = asText(message['text']) !== undefined || asText(message['caption']) !== undefined
  return isWritten ? withoutDescriptions(shown) : withoutOrigins(shown)
}

function withLine(line: string | undefined, text: string): string {
  return line === undefined ? text : `${line}\n${text}`
}

function normalizeEdit(updateId: string, message: JsonRecord, context: NormalizeContext): InboundEvent[] {
  const source = sourceOf(message, context)
  const content = contentOf(message)
  const of = messageKey(message, context)
  // A live location or a keyboard that changes arrives as an edit, too.
  const hasText = asText(message['text']) !== undefined || asText(message['caption']) !== undefined
  if (!hasText || source === undefined || content === undefined || of === undefined) return []
  if (source.userId === context.botId) return []
  const event = toMessageEvent({ message, content, addressee: 'us' }, source, context)
  return [{ kind: 'change', change: { kind: 'edited', of, event }, keys: [updateKey(updateId, context)] }]
}

function normalizeReactions(updateId: string, reaction: JsonRecord, context: NormalizeContext): InboundEvent[] {
  const changes = toReactionChanges(reaction, context)
  return changes.map((change, index) => {
    const key = index === 0 ? updateId : `${updateId}:${index + 1}`
    return { kind: 'change', change, keys: [updateKey(key, context)] }
  })
}

function normalizePress(query: JsonRecord, context: NormalizeContext): InboundEvent[] {
  const queryId = asText(query['id'])
  if (queryId === undefined) return []
  const press = toButtonPress(query, context)
  return [{ kind: 'press', queryId, press }]
}

/** The key of the update, and the key by which a later edit finds the message. */
function keysOf({ updateId, message }: AlbumPart, context: NormalizeContext): EventKeys {
  const alias = messageKey(message, context)
  return alias === undefined ? [updateKey(updateId, context)] : [updateKey(updateId, context), alias]
}

function updateKey(updateId: string, { botId }: NormalizeContext): EventKey {
  return brand<EventKey>(`tg:${botId}:${updateId}`)
}

function messageKey(message: JsonRecord, { botId }: NormalizeContext): EventKey | undefined {
  const chatId = asId(asRecord(message['chat'])['id'])
  const messageId = asId(message['message_id'])
  return chatId === undefined || messageId === undefined
    ? undefined
    : brand<EventKey>(`tg:${botId}:m:${chatId}:${messageId}`)
}
