/**
 * What a message says: its words without Discord's codes, and what is attached to it. Pure.
 */
import type { Attachment } from '#sdk'
import { asObject, hasBit, idAt, type Json, numberAt, objectAt, objectsAt, textAt, wordsAt } from './wire.ts'

/** What names stand for the codes of a message. */
export interface Names {
  /** The bot itself: its mention says whom the message is for, and is no part of what it says. */
  readonly me: string | undefined
  channelName(id: string): string | undefined
  roleName(id: string): string | undefined
  isMyRole(id: string): boolean
}

const voiceFlag = 1 << 13
/** `message_reference.type` of a forwarded message. */
const forward = 1

/** The words of a message; of a poll, a forwarded message or a bot's card their plain form. '' where there are none. */
export function textOf(message: Json, names: Names): string {
  const own = plain(textAt(message, 'content') ?? '', objectsAt(message, 'mentions'), names)
  const parts = [own, ...forwardsOf(message).map((one) => forwardText(one, names)), pollText(message)]
  const text = parts.filter((part) => part !== '').join('\n\n')
  // A person's cards are previews of links; a bot often has nothing but a card to say.
  return text === '' && isBotMessage(message) ? cardText(message) : text
}

/** One line for a quote: the words, or else what the message consists of. */
export function quoteOf(message: Json, names: Names): string {
  const text = textOf(message, names)
  if (text !== '') return text
  return attachmentsOf(message)
    .map(({ kind, fileName }) => `[${kind}${fileName === undefined ? '' : `: ${fileName}`}]`)
    .join(' ')
}

/** Files, voice messages and stickers, of forwarded messages too. */
export function attachmentsOf(message: Json): readonly Attachment[] {
  return [message, ...forwardsOf(message)].flatMap((one) => [
    ...objectsAt(one, 'attachments').flatMap((file) => toAttachment(file, hasBit(one, 'flags', voiceFlag))),
    ...objectsAt(one, 'sticker_items').flatMap(toSticker),
  ])
}

export function isBotMessage(message: Json): boolean {
  return objectAt(message, 'author')?.['bot'] === true || idAt(message, 'webhook_id') !== undefined
}

export function isForward(message: Json): boolean {
  return numberAt(objectAt(message, 'message_reference'), 'type') === forward
}

function forwardsOf(message: Json): readonly Json[] {
  return objectsAt(message, 'message_snapshots').map((snapshot) => asObject(snapshot['message']))
}

function forwardText(message: Json, names: Names): string {
  const text = plain(textAt(message, 'content') ?? '', objectsAt(message, 'mentions'), names)
  return text === '' ? '' : `Forwarded message:\n${text.replace(/^/gm, '> ')}`
}

function pollText(message: Json): string {
  const poll = objectAt(message, 'poll')
  const question = wordsAt(objectAt(poll, 'question'), 'text')
  if (question === undefined) return ''
  const answers = objectsAt(poll, 'answers').map((answer, index) => {
    return `${index + 1}. ${textAt(objectAt(answer, 'poll_media'), 'text') ?? ''}`
  })
  return [`Poll: ${question}`, ...answers].join('\n')
}

function cardText(message: Json): string {
  return objectsAt(message, 'embeds')
    .slice(0, 10)
    .flatMap((embed) => {
      const fields = objectsAt(embed, 'fields').map(
        (field) => `${textAt(field, 'name') ?? ''}: ${textAt(field, 'value') ?? ''}`,
      )
      return [wordsAt(embed, 'title') ?? '', wordsAt(embed, 'description') ?? '', ...fields].filter(
        (line) => line !== '',
      )
    })
    .join('\n')
}

/** Users, roles, channels, emojis, times and commands, as Discord writes them. */
const codes = /<(@[!&]?|#|a?:\w{1,64}:|t:|\/[^:<>\n]{1,64}:)(-?\d{1,20})(?::[tTdDfFR])?>/g

/** Word for word, with names in place of codes. */
function plain(content: string, mentioned: readonly Json[], names: Names): string {
  const kept: string[] = []
  let part = ''
  let last = 0
  for (const match of content.matchAll(codes)) {
    const [code, kind = '', id = ''] = match
    part += content.slice(last, match.index)
    last = match.index + code.length
    if (isMe(kind, id, names)) {
      kept.push(part)
      part = ''
    } else part += nameFor(kind, id, mentioned, names) ?? code
  }
  part += content.slice(last)
  return kept.length === 0 ? part : joined([...kept, part])
}

function isMe(kind: string, id: string, names: Names): boolean {
  if (kind === '@&') return names.isMyRole(id)
  return (kind === '@' || kind === '@!') && id === names.me
}

function nameFor(kind: string, id: string, mentioned: readonly Json[], names: Names): string | undefined {
  if (kind === '@' || kind === '@!') {
    const user = mentioned.find((one) => idAt(one, 'id') === id)
    return user === undefined ? undefined : `@${nameOf(user, objectAt(user, 'member')) ?? 'somebody'}`
  }
  if (kind === '@&') return withSign('@', names.roleName(id))
  if (kind === '#') return withSign('#', names.channelName(id))
  if (kind === 't:') return timeText(id)
  if (kind.startsWith('/')) return kind.slice(0, -1)
  return kind.startsWith('a:') ? kind.slice(1) : kind
}

/** How people call somebody: the name on this server, the display name, the account's. */
export function nameOf(user: Json | undefined, member: Json | undefined): string | undefined {
  return wordsAt(member, 'nick') ?? wordsAt(user, 'global_name') ?? wordsAt(user, 'username')
}

function withSign(sign: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${sign}${name}`
}

function timeText(seconds: string): string | undefined {
  const date = new Date(Number(seconds) * 1_000)
  return Number.isNaN(date.getTime()) ? undefined : `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Closes the gaps that a mention left: one blank within a line, nothing at its ends. */
function joined(parts: readonly string[]): string {
  const cut = parts.map((part, index) => {
    const head = index === 0 ? 0 : blanksFrom(part, 0, 1)
    const tail = index === parts.length - 1 ? part.length : blanksFrom(part, part.length - 1, -1) + 1
    return part.slice(head, Math.max(head, tail))
  })
  let text = cut[0] ?? ''
  for (const part of cut.slice(1)) text += text === '' || part === '' || text.endsWith('\n') ? part : ` ${part}`
  // "@bot, what …" and "@bot: what …"
  return text.trim().replace(/^[,:]\s{0,10}/, '')
}

/** The first place from `at` on, in steps, that is no blank. */
function blanksFrom(text: string, at: number, step: 1 | -1): number {
  let place = at
  while (text[place] === ' ' || text[place] === '\t') place += step
  return place
}

function toAttachment(file: Json, voice: boolean): Attachment[] {
  const url = wordsAt(file, 'url')
  if (url === undefined) return []
  const mimeType = wordsAt(file, 'content_type')?.split(';', 1)[0]
  const fileName = wordsAt(file, 'filename')
  const bytes = numberAt(file, 'size')
  return [
    {
      kind: voice ? 'voice' : kindOf(mimeType ?? ''),
      url,
      ref: url,
      ...(mimeType === undefined ? {} : { mimeType }),
      ...(fileName === undefined ? {} : { fileName }),
      ...(bytes === undefined ? {} : { bytes }),
    },
  ]
}

function kindOf(mimeType: string): Attachment['kind'] {
  if (mimeType.startsWith('image/')) return 'photo'
  if (mimeType.startsWith('video/')) return 'video'
  return mimeType.startsWith('audio/') ? 'audio' : 'document'
}

/** By `format_type`: PNG, APNG, Lottie (a drawing program, no picture), GIF. */
const stickerFormats: Readonly<Record<number, { readonly ending: string; readonly mimeType: string }>> = {
  1: { ending: 'png', mimeType: 'image/png' },
  2: { ending: 'png', mimeType: 'image/png' },
  4: { ending: 'gif', mimeType: 'image/gif' },
}

function toSticker(sticker: Json): Attachment[] {
  const id = idAt(sticker, 'id')
  const name = wordsAt(sticker, 'name')
  if (id === undefined || name === undefined) return []
  const format = stickerFormats[numberAt(sticker, 'format_type') ?? 0]
  if (format === undefined) return [{ kind: 'sticker', fileName: name }]
  const url = `https://media.discordapp.net/stickers/${id}.${format.ending}`
  return [{ kind: 'sticker', fileName: name, url, mimeType: format.mimeType }]
}
