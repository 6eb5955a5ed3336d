/**
 * What a message says: its text, what kind of message it is, and the files it carries. Messages of the service (somebody
 * joined, the title changed) say nothing.
 */
import type { Attachment, MessageType } from '#sdk'
import { asId, asNumber, asRecord, asRecords, asText, type JsonRecord } from './payload.ts'

export interface MessageContent {
  readonly text: string
  /** Marks mentions and commands in `text`, in UTF-16 units. */
  readonly entities: readonly JsonRecord[]
  readonly messageType: MessageType
  readonly attachments: readonly Attachment[]
}

/** Undefined where there is nothing for the agent. */
export function contentOf(message: JsonRecord): MessageContent | undefined {
  const text = asText(message['text'])
  if (text !== undefined) {
    const messageType = text.trimStart().startsWith('/') ? 'command' : 'text'
    return { text, entities: asRecords(message['entities']), messageType, attachments: [] }
  }
  return mediaOf(message) ?? describeContent(message)
}

interface MediaKind {
  readonly field: string
  readonly type: MessageType
  readonly kind: Attachment['kind']
  /** What Telegram makes of every file of this kind. */
  readonly mimeType?: string
}

/** In this order: an animation comes with a `document` as well. */
const mediaKinds: readonly MediaKind[] = [
  { field: 'animation', type: 'video', kind: 'video' },
  { field: 'video', type: 'video', kind: 'video' },
  { field: 'video_note', type: 'video', kind: 'video', mimeType: 'video/mp4' },
  { field: 'voice', type: 'voice', kind: 'voice', mimeType: 'audio/ogg' },
  { field: 'audio', type: 'audio', kind: 'audio' },
  { field: 'document', type: 'document', kind: 'document' },
]

function mediaOf(message: JsonRecord): MessageContent | undefined {
  const said = { text: asText(message['caption']) ?? '', entities: asRecords(message['caption_entities']) }
  const photo = attachmentOf(largestOf(message['photo']), 'photo', 'image/jpeg')
  if (photo !== undefined) return { ...said, messageType: 'photo', attachments: [photo] }
  const sticker = asRecord(message['sticker'])
  if (asText(sticker['file_id']) !== undefined) return stickerOf(sticker)
  for (const { field, type, kind, mimeType } of mediaKinds) {
    const file = attachmentOf(asRecord(message[field]), kind, mimeType)
    if (file !== undefined) return { ...said, messageType: type, attachments: [file] }
  }
  return undefined
}

function attachmentOf(file: JsonRecord, kind: Attachment['kind'], usualType?: string): Attachment | undefined {
  const ref = asText(file['file_id'])
  if (ref === undefined) return undefined
  const mimeType = asText(file['mime_type']) ?? usualType
  const fileName = asText(file['file_name'])
  const bytes = asNumber(file['file_size'])
  return {
    kind,
    ref,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(fileName === undefined ? {} : { fileName }),
    ...(bytes === undefined ? {} : { bytes }),
  }
}

/** Telegram offers a photo in several sizes, usually the largest last. */
function largestOf(sizes: unknown): JsonRecord {
  const area = (size: JsonRecord) => (asNumber(size['width']) ?? 0) * (asNumber(size['height']) ?? 0)
  return asRecords(sizes).reduce((best, size) => (area(size) >= area(best) ? size : best), {})
}

/** Its emoji says what it says; only one that stands still is a picture that a model can look at. */
function stickerOf(sticker: JsonRecord): MessageContent {
  const moves = sticker['is_animated'] === true || sticker['is_video'] === true
  const picture = moves ? undefined : attachmentOf(sticker, 'sticker', 'image/webp')
  const text = asText(sticker['emoji']) ?? '[Sticker]'
  return { text, entities: [], messageType: 'sticker', attachments: picture === undefined ? [] : [picture] }
}

/** Things without a file, in words. */
function describeContent(message: JsonRecord): MessageContent | undefined {
  const place = describeLocation(message)
  if (place !== undefined) return { text: place, entities: [], messageType: 'location', attachments: [] }
  const text =
    describeContact(message) ??
    describePoll(message) ??
    describeDice(message) ??
    describeChecklist(message) ??
    describeGameOrStory(message)
  return text === undefined ? undefined : { text, entities: [], messageType: 'text', attachments: [] }
}

function describeLocation(message: JsonRecord): string | undefined {
  const venue = asRecord(message['venue'])
  const { latitude, longitude, live_period: live } = asRecord(message['location'] ?? venue['location'])
  if (asNumber(latitude) === undefined || asNumber(longitude) === undefined) return undefined
  const where = `${latitude}, ${longitude}`
  const names = [asText(venue['title']), asText(venue['address'])].filter((name) => name !== undefined)
  if (names.length > 0) return `[Venue: ${oneLine(names.join(', '))} (${where})]`
  return `[${asNumber(live) === undefined ? 'Location' : 'Live location'}: ${where}]`
}

function describeContact(message: JsonRecord): string | undefined {
  const contact = asRecord(message['contact'])
  const parts = [
    [asText(contact['first_name']), asText(contact['last_name'])].filter((part) => part !== undefined).join(' '),
    asText(contact['phone_number']) ?? '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? undefined : `[Contact: ${oneLine(parts.join(', '))}]`
}

function describePoll(message: JsonRecord): string | undefined {
  const poll = asRecord(message['poll'])
  const question = asText(poll['question'])
  if (question === undefined) return undefined
  return toTextList(`[Poll: ${oneLine(question)}]`, asRecords(poll['options']))
}

function describeChecklist(message: JsonRecord): string | undefined {
  const checklist = asRecord(message['checklist'])
  const title = asText(checklist['title'])
  if (title === undefined) return undefined
  return toTextList(`[Checklist: ${oneLine(title)}]`, asRecords(checklist['tasks']))
}

function toTextList(title: string, items: readonly JsonRecord[]): string {
  const lines = items.slice(0, 100).map((item) => `- ${oneLine(asText(item['text']) ?? '')}`)
  return [title, ...lines].join('\n')
}

function describeDice(message: JsonRecord): string | undefined {
  const { emoji, value } = asRecord(message['dice'])
  return asNumber(value) === undefined ? undefined : `[Dice ${asText(emoji) ?? '🎲'}: ${value}]`
}

function describeGameOrStory(message: JsonRecord): string | undefined {
  const game = asText(asRecord(message['game'])['title'])
  if (game !== undefined) return `[Game: ${oneLine(game)}]`
  return asId(asRecord(message['story'])['id']) === undefined ? undefined : '[Story]'
}

/** Names come from people: they must not be able to start a line of their own. */
export function oneLine(text: string, limitChars = 500): string {
  const flat = text
    .slice(0, limitChars * 2)
    .replace(/[\s[\]]+/g, ' ')
    .trim()
  return flat.length <= limitChars ? flat : `${flat.slice(0, limitChars).toWellFormed()}…`
}
