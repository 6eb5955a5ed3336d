/**
 * From what Telegram sends to what the gateway takes in. Pure, and never throws: a payload that makes no sense is nothing.
 */
import { type ButtonPress, brand, type EventKey, type MessageChange, type MessageEvent, type SessionSource } from '#sdk'
import { type Addressee, addresseeOf, shouldProcess, withoutMention } from './addressing.ts'
import { groupAlbums } from './albums.ts'
import { hasTextOrCaption, timeOf, toButtonPress, toReactionChanges } from './changes.ts'
import { contentOf, type MessageContent, oneLine } from './content.ts'
import type { NormalizeContext } from './context.ts'
import { asId, asRecord, asText, isRecord, type JsonRecord } from './payload.ts'
import { replyOf } from './reply.ts'
import { nameOf, sourceOf } from './source.ts'

type EventKeys = readonly [EventKey, ...EventKey[]]

export type InboundEvent =
  | {
      readonly kind: 'event'
      readonly event: MessageEvent
      readonly keys: EventKeys
      /** The messages of an album, each for itself: some may have come in before the others. */
      readonly parts?: readonly { readonly event: MessageEvent; readonly keys: EventKeys }[]
    }
  | { readonly kind: 'change'; readonly change: MessageChange; readonly keys: EventKeys }
  /** Without a press the button is none of ours, but the person waits for an answer all the same. */
  | { readonly kind: 'press'; readonly queryId: string; readonly press?: ButtonPress }

/** What is to be handed in for some updates, in their order. */
export function normalize(updates: readonly unknown[], view: NormalizeContext): InboundEvent[] {
  return groupAlbums(updates).flatMap((group) => {
    const [first] = group
    if (first === undefined) return []
    const updateId = asId(first['update_id'])
    if (updateId === undefined) return []
    if (group.length > 1 || newMessageIn(first) !== undefined) return normalizeMessages(group, view)
    const edited = first['edited_message'] ?? first['edited_channel_post']
    if (isRecord(edited)) return normalizeEdit(updateId, edited, view)
    if (isRecord(first['message_reaction'])) return normalizeReactions(updateId, first['message_reaction'], view)
    return isRecord(first['callback_query']) ? normalizePress(first['callback_query'], view) : []
  })
}

/** Where things of one chat must keep their order. */
export function chatIdOf(intake: InboundEvent): string {
  switch (intake.kind) {
    case 'event':
      return intake.event.source.chatId
    case 'change':
      return intake.change.kind === 'edited' ? intake.change.event.source.chatId : intake.change.source.chatId
    case 'press':
      return intake.press?.source.chatId ?? ''
  }
}

interface AlbumPart {
  readonly updateId: string
  readonly message: JsonRecord
  readonly content: MessageContent
  readonly addressee: Addressee
}

/** One message, or the messages of an album as one. */
function normalizeMessages(updates: readonly JsonRecord[], view: NormalizeContext): InboundEvent[] {
  const parts = updates.flatMap((update) => toAlbumParts(update, view))
  const [first] = parts
  const source = first && sourceOf(first.message, view)
  if (first === undefined || source === undefined || source.userId === view.botId) return []
  const said = parts.map(({ addressee }) => addressee)
  const addressee = said.includes('us') ? 'us' : said.includes('elsewhere') ? 'elsewhere' : 'nobody'
  if (!shouldProcess(source, addressee, view)) return []
  const single = parts.map((part) => ({ event: toMessageEvent(part, source, view), keys: keysOf(part, view) }))
  const [head, ...others] = single
  if (head === undefined) return []
  if (others.length === 0) return [{ kind: 'event', ...head }]
  const all = single.map(({ event }) => event)
  const text = all.flatMap((event) => (event.text === '' ? [] : [event.text])).join('\n')
  const event = { ...head.event, text, attachments: all.flatMap((one) => one.attachments ?? []) }
  return [{ kind: 'event', event, keys: [...head.keys, ...others.flatMap(({ keys }) => keys)], parts: single }]
}

function toAlbumParts(update: JsonRecord, view: NormalizeContext): AlbumPart[] {
  const updateId = asId(update['update_id'])
  const message = newMessageIn(update)
  const content = message && contentOf(message)
  if (updateId === undefined || message === undefined || content === undefined) return []
  return [{ updateId, message, content, addressee: addresseeOf(message, content, view) }]
}

function newMessageIn(update: JsonRecord): JsonRecord | undefined {
  const message = update['message'] ?? update['channel_post']
  return isRecord(message) ? message : undefined
}

function toMessageEvent(
  { message, content }: Omit<AlbumPart, 'updateId'>,
  source: SessionSource,
  view: NormalizeContext,
): MessageEvent {
  const messageId = asId(message['message_id'])
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

function forwardedFrom(message: JsonRecord): string | undefined {
  const origin = message['forward_origin']
  if (!isRecord(origin)) return undefined
  const { sender_user: user, sender_user_name: name, sender_chat: group, chat: channel } = origin
  const from = nameOf(asRecord(user)) ?? asText(name) ?? asText(asRecord(group ?? channel)['title'])
  return from === undefined ? 'somebody' : oneLine(from, 80)
}

function normalizeEdit(updateId: string, message: JsonRecord, view: NormalizeContext): InboundEvent[] {
  const source = sourceOf(message, view)
  const content = contentOf(message)
  const of = messageKey(message, view)
  if (!hasTextOrCaption(message) || source === undefined || content === undefined || of === undefined) return []
  if (source.userId === view.botId) return []
  const event = toMessageEvent({ message, content, addressee: 'us' }, source, view)
  return [{ kind: 'change', change: { kind: 'edited', of, event }, keys: [updateKey(updateId, view)] }]
}

function normalizeReactions(updateId: string, reaction: JsonRecord, view: NormalizeContext): InboundEvent[] {
  const changes = toReactionChanges(reaction, view)
  return changes.map((change, index) => {
    const key = index === 0 ? updateId : `${updateId}:${index + 1}`
    return { kind: 'change', change, keys: [updateKey(key, view)] }
  })
}

function normalizePress(query: JsonRecord, view: NormalizeContext): InboundEvent[] {
  const queryId = asText(query['id'])
  if (queryId === undefined) return []
  const press = toButtonPress(query, view)
  return [{ kind: 'press', queryId, ...(press === undefined ? {} : { press }) }]
}

/** The update's own name, and the name by which a later edit finds the message. */
function keysOf({ updateId, message }: AlbumPart, view: NormalizeContext): EventKeys {
  const alias = messageKey(message, view)
  return alias === undefined ? [updateKey(updateId, view)] : [updateKey(updateId, view), alias]
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
