/**
 * Reads messages that are not plain text: files with a caption, stickers, locations, contacts, polls and games. Service
 * messages (a member joined, the title changed) have no content.
 */
import type { Attachment, MessageType } from '#sdk'
import { toMarkdown } from './markdown.ts'
import { asId, asNumber, asRecord, asRecords, asText, type JsonRecord } from './payload.ts'

export interface MessageContent {
  readonly text: string
  /** Mentions and commands in `text`; offsets are UTF-16 units. */
  readonly entities: readonly JsonRecord[]
  readonly messageType: MessageType
  readonly attachments: readonly Attachment[]
}

export function nonTextContentOf(message: JsonRecord): MessageContent | undefined {
  return mediaOf(message) ?? paidMediaOf(message) ?? describeContent(message)
}

interface MediaKind {
  readonly field: string
  readonly type: MessageType
  readonly kind: Attachment['kind']
  /** The format into which Telegram converts every file of this kind. */
  readonly mimeType?: string
}

/** Telegram allows ten. */
const maxPaidItems = 10

/** The order matters: an animation also has a `document`. */
const mediaKinds: readonly MediaKind[] = [
  { field: 'animation', type: 'video', kind: 'video' },
  { field: 'video', type: 'video', kind: 'video' },
  { field: 'video_note', type: 'video', kind: 'video', mimeType: 'video/mp4' },
  { field: 'voice', type: 'voice', kind: 'voice', mimeType: 'audio/ogg' },
  { field: 'audio', type: 'audio', kind: 'audio' },
  { field: 'document', type: 'document', kind: 'document' },
]

function mediaOf(message: JsonRecord): MessageContent | undefined {
  const caption = captionOf(message)
  const photo = attachmentOf(largestOf(message['photo']), 'photo', 'image/jpeg')
  if (photo !== undefined) return { ...caption, messageType: 'photo', attachments: [photo] }
  const sticker = asRecord(message['sticker'])
  if (asText(sticker['file_id']) !== undefined) return stickerOf(sticker)
  for (const { field, type, kind, mimeType } of mediaKinds) {
    const file = attachmentOf(asRecord(message[field]), kind, mimeType)
    if (file !== undefined) return { ...caption, messageType: type, attachments: [file] }
  }
  return undefined
}

function captionOf(message: JsonRecord) {
  return toMarkdown({ text: asText(message['caption']) ?? '', entities: asRecords(message['caption_entities']) })
}

/** Telegram sends only a preview without a file of media for which the bot has not paid. */
function paidMediaOf(message: JsonRecord): MessageContent | undefined {
  const { star_count: stars, paid_media: items } = asRecord(message['paid_media'])
  if (asNumber(stars) === undefined) return undefined
  const kinds = asRecords(items)
    .slice(0, maxPaidItems)
    .map((item) => oneLine(asText(item['type']) ?? 'unknown', 20))
  const attachments = asRecords(items)
    .slice(0, maxPaidItems)
    .flatMap((item) => [
      attachmentOf(largestOf(item['photo']), 'photo', 'image/jpeg') ?? [],
      attachmentOf(asRecord(item['video']), 'video') ?? [],
    ])
    .flat()
  const { text: caption, entities } = captionOf(message)
  const line = `[Paid media for ${stars} stars: ${kinds.join(', ') || 'no preview'}]`
  // Behind the caption, so that the offsets of its entities stay valid.
  const text = caption === '' ? line : `${caption}\n${line}`
  return { text, entities, messageType: attachments[0]?.kind ?? 'text', attachments }
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
    mimeType,
    fileName,
    bytes,
  }
}

/** Telegram sends a photo in several sizes, usually the largest last. */
function largestOf(sizes: unknown): JsonRecord {
  const area = (size: JsonRecord) => (asNumber(size['width']) ?? 0) * (asNumber(size['height']) ?? 0)
  return asRecords(sizes).reduce((best, size) => (area(size) >= area(best) ? size : best), {})
}

/** The text is the emoji. Only a static sticker is an image that a model can read. */
function stickerOf(sticker: JsonRecord): MessageContent {
  const isMoving = sticker['is_animated'] === true || sticker['is_video'] === true
  const picture = isMoving ? undefined : attachmentOf(sticker, 'sticker', 'image/webp')
  const text = asText(sticker['emoji']) ?? '[Sticker]'
  return { text, entities: [], messageType: 'sticker', attachments: picture === undefined ? [] : [picture] }
}

/** Describes content that has no file. */
function describeContent(message: JsonRecord): MessageContent | undefined {
  const location = describeLocation(message)
  if (location !== undefined) return { text: location, entities: [], messageType: 'location', attachments: [] }
  const text =
    describeContact(message) ??
    describePoll(message) ??
    describeDice(message) ??
    describeChecklist(message) ??
    describeWebAppData(message) ??
    describeGameOrStory(message)
  return text === undefined ? undefined : { text, entities: [], messageType: 'text', attachments: [] }
}

function describeLocation(message: JsonRecord): string | undefined {
  const venue = asRecord(message['venue'])
  const { latitude, longitude, live_period: live } = asRecord(message['location'] ?? venue['location'])
  if (asNumber(latitude) === undefined || asNumber(longitude) === undefined) return undefined
  const coordinates = `${latitude}, ${longitude}`
  const names = [asText(venue['title']), asText(venue['address'])].filter((name) => name !== undefined)
  if (names.length > 0) return `[Venue: ${oneLine(names.join(', '))} (${coordinates})]`
  return `[${asNumber(live) === undefined ? 'Location' : 'Live location'}: ${coordinates}]`
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

/** What a mini app of a keyboard button sent. */
function describeWebAppData(message: JsonRecord): string | undefined {
  const { data, button_text: button } = asRecord(message['web_app_data'])
  if (asText(data) === undefined) return undefined
  return `[Data of the web app: ${oneLine(asText(button) ?? 'no name')}]\n${data}`
}

function describeGameOrStory(message: JsonRecord): string | undefined {
  const game = asText(asRecord(message['game'])['title'])
  if (game !== undefined) return `[Game: ${oneLine(game)}]`
  return asId(asRecord(message['story'])['id']) === undefined ? undefined : '[Story]'
}

/** Users choose these names. A name with line breaks could imitate another message. */
export function oneLine(text: string, limitChars = 500): string {
  const flat = text
    .slice(0, limitChars * 2)
    .replace(/[\s[\]]+/g, ' ')
    .trim()
  return flat.length <= limitChars ? flat : `${flat.slice(0, limitChars).toWellFormed()}…`
}
