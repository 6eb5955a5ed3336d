/**
 * What a message says: its text, what kind of message it is, and the files it carries. Messages of the service (somebody
 * joined, the title changed) say nothing.
 */
import type { Attachment, MessageType } from '#sdk'
import { type Fields, fieldsOf, idOf, listOf, numberOf, textOf } from '../fields.ts'

export interface Content {
  readonly text: string
  /** Marks mentions and commands in `text`, in UTF-16 units. */
  readonly entities: readonly Fields[]
  readonly messageType: MessageType
  readonly attachments: readonly Attachment[]
}

/** Undefined where there is nothing for the agent. */
export function contentOf(message: Fields): Content | undefined {
  const text = textOf(message['text'])
  if (text !== undefined) {
    const messageType = text.trimStart().startsWith('/') ? 'command' : 'text'
    return { text, entities: listOf(message['entities']), messageType, attachments: [] }
  }
  return mediaOf(message) ?? spokenOf(message)
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

function mediaOf(message: Fields): Content | undefined {
  const said = { text: textOf(message['caption']) ?? '', entities: listOf(message['caption_entities']) }
  const photo = attachmentOf(largestOf(message['photo']), 'photo', 'image/jpeg')
  if (photo !== undefined) return { ...said, messageType: 'photo', attachments: [photo] }
  const sticker = fieldsOf(message['sticker'])
  if (textOf(sticker['file_id']) !== undefined) return stickerOf(sticker)
  for (const { field, type, kind, mimeType } of mediaKinds) {
    const file = attachmentOf(fieldsOf(message[field]), kind, mimeType)
    if (file !== undefined) return { ...said, messageType: type, attachments: [file] }
  }
  return undefined
}

function attachmentOf(file: Fields, kind: Attachment['kind'], usualType?: string): Attachment | undefined {
  const ref = textOf(file['file_id'])
  if (ref === undefined) return undefined
  const mimeType = textOf(file['mime_type']) ?? usualType
  const fileName = textOf(file['file_name'])
  const bytes = numberOf(file['file_size'])
  return {
    kind,
    ref,
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(fileName === undefined ? {} : { fileName }),
    ...(bytes === undefined ? {} : { bytes }),
  }
}

/** Telegram offers a photo in several sizes, usually the largest last. */
function largestOf(sizes: unknown): Fields {
  const area = (size: Fields) => (numberOf(size['width']) ?? 0) * (numberOf(size['height']) ?? 0)
  return listOf(sizes).reduce((best, size) => (area(size) >= area(best) ? size : best), {})
}

/** Its emoji says what it says; only one that stands still is a picture that a model can look at. */
function stickerOf(sticker: Fields): Content {
  const moves = sticker['is_animated'] === true || sticker['is_video'] === true
  const picture = moves ? undefined : attachmentOf(sticker, 'sticker', 'image/webp')
  const text = textOf(sticker['emoji']) ?? '[Sticker]'
  return { text, entities: [], messageType: 'sticker', attachments: picture === undefined ? [] : [picture] }
}

/** Things without a file, in words. */
function spokenOf(message: Fields): Content | undefined {
  const place = placeOf(message)
  if (place !== undefined) return { text: place, entities: [], messageType: 'location', attachments: [] }
  const text = contactOf(message) ?? pollOf(message) ?? diceOf(message) ?? checklistOf(message) ?? titledOf(message)
  return text === undefined ? undefined : { text, entities: [], messageType: 'text', attachments: [] }
}

function placeOf(message: Fields): string | undefined {
  const venue = fieldsOf(message['venue'])
  const { latitude, longitude, live_period: live } = fieldsOf(message['location'] ?? venue['location'])
  if (numberOf(latitude) === undefined || numberOf(longitude) === undefined) return undefined
  const where = `${latitude}, ${longitude}`
  const names = [textOf(venue['title']), textOf(venue['address'])].filter((name) => name !== undefined)
  if (names.length > 0) return `[Venue: ${oneLine(names.join(', '))} (${where})]`
  return `[${numberOf(live) === undefined ? 'Location' : 'Live location'}: ${where}]`
}

function contactOf(message: Fields): string | undefined {
  const contact = fieldsOf(message['contact'])
  const parts = [
    [textOf(contact['first_name']), textOf(contact['last_name'])].filter((part) => part !== undefined).join(' '),
    textOf(contact['phone_number']) ?? '',
  ].filter((part) => part !== '')
  return parts.length === 0 ? undefined : `[Contact: ${oneLine(parts.join(', '))}]`
}

function pollOf(message: Fields): string | undefined {
  const poll = fieldsOf(message['poll'])
  const question = textOf(poll['question'])
  if (question === undefined) return undefined
  return listed(`[Poll: ${oneLine(question)}]`, listOf(poll['options']))
}

function checklistOf(message: Fields): string | undefined {
  const checklist = fieldsOf(message['checklist'])
  const title = textOf(checklist['title'])
  if (title === undefined) return undefined
  return listed(`[Checklist: ${oneLine(title)}]`, listOf(checklist['tasks']))
}

function listed(title: string, items: readonly Fields[]): string {
  const lines = items.slice(0, 100).map((item) => `- ${oneLine(textOf(item['text']) ?? '')}`)
  return [title, ...lines].join('\n')
}

function diceOf(message: Fields): string | undefined {
  const { emoji, value } = fieldsOf(message['dice'])
  return numberOf(value) === undefined ? undefined : `[Dice ${textOf(emoji) ?? '🎲'}: ${value}]`
}

function titledOf(message: Fields): string | undefined {
  const game = textOf(fieldsOf(message['game'])['title'])
  if (game !== undefined) return `[Game: ${oneLine(game)}]`
  return idOf(fieldsOf(message['story'])['id']) === undefined ? undefined : '[Story]'
}

/** Names come from people: they must not be able to start a line of their own. */
export function oneLine(text: string, limitChars = 500): string {
  const flat = text
    .slice(0, limitChars * 2)
    .replace(/[\s[\]]+/g, ' ')
    .trim()
  return flat.length <= limitChars ? flat : `${flat.slice(0, limitChars).toWellFormed()}…`
}
