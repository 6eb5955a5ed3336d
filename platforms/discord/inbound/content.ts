/**
 * The text of a message, with names in place of Discord's codes, and its attachments. Pure.
 */
import { type Attachment, createLineFilter } from '#sdk'
import {
  asRecord,
  hasFlag,
  idAt,
  type JsonRecord,
  nonEmptyTextAt,
  numberAt,
  recordAt,
  recordsAt,
  textAt,
} from './payload.ts'

/** Resolves the codes of a message to names. */
export interface NameResolver {
  /** The bot itself. Its mention is not part of the text. */
  readonly botId: string | undefined
  channelName(id: string): string | undefined
  roleName(id: string): string | undefined
  isOwnRole(id: string): boolean
}

const voiceFlag = 1 << 13
/** Discord's type of a message that replies to another one. */
export const replyType = 19
const richEmbed = 'rich'
const maxEmbeds = 10
const textDisplayType = 10
/** A text is in a section of a container at most. */
const maxComponentDepth = 4
/** `message_reference.type` of a forwarded message. */
const forwardReferenceType = 1

/** The text of a message, including polls, forwarded messages, and the embeds and components of bots. '' without text. */
export function messageText(message: JsonRecord, names: NameResolver): string {
  const parts = [
    withoutForgedHeading(bodyText(message, isBotMessage(message), names)),
    ...forwardsOf(message).map((forward) => forwardText(forward, names)),
    withoutForgedHeading(pollText(message)),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** `showsEmbeds`: the embeds of a user are previews of links, those of a bot are its message. */
function bodyText(message: JsonRecord, showsEmbeds: boolean, names: NameResolver): string {
  const mentions = recordsAt(message, 'mentions')
  const readable = (text: string) => replaceMarkup(text, mentions, names)
  const texts = [readable(textAt(message, 'content') ?? ''), readable(componentText(message))]
  const text = texts.filter((part) => part !== '').join('\n\n')
  const embeds = showsEmbeds ? readable(embedText(message, text === '')) : ''
  return [text, embeds].filter((part) => part !== '').join('\n\n')
}

/** The text of a quoted message, or the kinds of its attachments. */
export function quoteOf(message: JsonRecord, names: NameResolver): string {
  const text = messageText(message, names)
  if (text !== '') return text
  return attachmentsOf(message)
    .map(({ kind, fileName }) => `[${kind}${fileName === undefined ? '' : `: ${fileName}`}]`)
    .join(' ')
}

/** Files, voice messages and stickers, of forwarded messages too. */
export function attachmentsOf(message: JsonRecord): readonly Attachment[] {
  return [message, ...forwardsOf(message)].flatMap((part) => [
    ...recordsAt(part, 'attachments').flatMap((file) => toAttachment(file, hasFlag(part, 'flags', voiceFlag))),
    ...recordsAt(part, 'sticker_items').flatMap(toSticker),
  ])
}

/** The files of the message that is replied to. */
export function quotedAttachmentsOf(message: JsonRecord): readonly Attachment[] {
  const quoted = numberAt(message, 'type') === replyType ? recordAt(message, 'referenced_message') : undefined
  return quoted === undefined ? [] : attachmentsOf(quoted).map((file) => ({ ...file, quoted: true }))
}

export function isBotMessage(message: JsonRecord): boolean {
  return recordAt(message, 'author')?.['bot'] === true || idAt(message, 'webhook_id') !== undefined
}

export function isForward(message: JsonRecord): boolean {
  return numberAt(recordAt(message, 'message_reference'), 'type') === forwardReferenceType
}

function forwardsOf(message: JsonRecord): readonly JsonRecord[] {
  return recordsAt(message, 'message_snapshots').map((snapshot) => asRecord(snapshot['message']))
}

/** A forward has no author. An embed that is not a preview shows that a bot wrote it. */
function forwardText(message: JsonRecord, names: NameResolver): string {
  const text = bodyText(message, true, names)
  return text === '' ? '' : `${forwardHeading}\n${text.replace(/^/gm, '> ')}`
}

const forwardHeading = 'Forwarded message:'

/** Only the adapter says that a text is another person's. */
const withoutForgedHeading = createLineFilter({ headings: [forwardHeading] })

function pollText(message: JsonRecord): string {
  const poll = recordAt(message, 'poll')
  const question = nonEmptyTextAt(recordAt(poll, 'question'), 'text')
  if (question === undefined) return ''
  const answers = recordsAt(poll, 'answers').map((answer, index) => {
    return `${index + 1}. ${textAt(recordAt(answer, 'poll_media'), 'text') ?? ''}`
  })
  return [`Poll: ${question}`, ...answers].join('\n')
}

/** Previews of links, to which Discord gives other types, are included only `withPreviews`. */
function embedText(message: JsonRecord, withPreviews: boolean): string {
  return recordsAt(message, 'embeds')
    .filter((embed) => withPreviews || (textAt(embed, 'type') ?? richEmbed) === richEmbed)
    .slice(0, maxEmbeds)
    .flatMap((embed) => {
      const fields = recordsAt(embed, 'fields').map(
        (field) => `${textAt(field, 'name') ?? ''}: ${textAt(field, 'value') ?? ''}`,
      )
      const lines = [
        nonEmptyTextAt(recordAt(embed, 'author'), 'name') ?? '',
        embedTitle(embed),
        nonEmptyTextAt(embed, 'description') ?? '',
        ...fields,
        nonEmptyTextAt(recordAt(embed, 'footer'), 'text') ?? '',
      ]
      return lines.filter((line) => line !== '')
    })
    .join('\n')
}

function embedTitle(embed: JsonRecord): string {
  const title = nonEmptyTextAt(embed, 'title')
  const url = nonEmptyTextAt(embed, 'url')
  return title === undefined ? '' : url === undefined ? title : `${title} (${url})`
}

/** The texts of a message that consists of components (Components V2): those of containers and sections too. */
function componentText(message: JsonRecord): string {
  return componentTexts(recordsAt(message, 'components'), maxComponentDepth)
    .filter((text) => text.trim() !== '')
    .join('\n')
}

function componentTexts(components: readonly JsonRecord[], depth: number): string[] {
  if (depth === 0) return []
  return components.flatMap((component) =>
    numberAt(component, 'type') === textDisplayType
      ? [textAt(component, 'content') ?? '']
      : componentTexts(recordsAt(component, 'components'), depth - 1),
  )
}

/** Users, roles, channels, emojis, timestamps and commands in Discord's notation. */
const markupPattern = /<(@[!&]?|#|a?:\w{1,64}:|t:|\/[^:<>\n]{1,64}:)(-?\d{1,20})(?::[tTdDfFR])?>/g

/** Replaces codes by names and removes mentions of the bot. */
function replaceMarkup(content: string, mentioned: readonly JsonRecord[], names: NameResolver): string {
  const lines: string[] = []
  let part = ''
  let last = 0
  for (const match of content.matchAll(markupPattern)) {
    const [code, kind = '', id = ''] = match
    part += content.slice(last, match.index)
    last = match.index + code.length
    if (isBotMention(kind, id, names)) {
      lines.push(part)
      part = ''
    } else part += displayTextOf(kind, id, mentioned, names) ?? code
  }
  part += content.slice(last)
  return lines.length === 0 ? part : joinParts([...lines, part])
}

function isBotMention(kind: string, id: string, names: NameResolver): boolean {
  if (kind === '@&') return names.isOwnRole(id)
  return (kind === '@' || kind === '@!') && id === names.botId
}

function displayTextOf(
  kind: string,
  id: string,
  mentioned: readonly JsonRecord[],
  names: NameResolver,
): string | undefined {
  if (kind === '@' || kind === '@!') {
    const user = mentioned.find((candidate) => idAt(candidate, 'id') === id)
    return user === undefined ? undefined : `@${nameOf(user, recordAt(user, 'member')) ?? 'user'}`
  }
  if (kind === '@&') return withPrefix('@', names.roleName(id))
  if (kind === '#') return withPrefix('#', names.channelName(id))
  if (kind === 't:') return timeText(id)
  if (kind.startsWith('/')) return kind.slice(0, -1)
  return kind.startsWith('a:') ? kind.slice(1) : kind
}

/** The name of a user on this server, else the display name, else the account name. */
export function nameOf(user: JsonRecord | undefined, member: JsonRecord | undefined): string | undefined {
  return nonEmptyTextAt(member, 'nick') ?? nonEmptyTextAt(user, 'global_name') ?? nonEmptyTextAt(user, 'username')
}

function withPrefix(sign: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${sign}${name}`
}

function timeText(seconds: string): string | undefined {
  const date = new Date(Number(seconds) * 1_000)
  return Number.isNaN(date.getTime()) ? undefined : `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** Joins the parts around removed mentions: with one space within a line, with nothing at its ends. */
function joinParts(parts: readonly string[]): string {
  const cut = parts.map((part, index) => {
    const head = index === 0 ? 0 : skipBlanks(part, 0, 1)
    const tail = index === parts.length - 1 ? part.length : skipBlanks(part, part.length - 1, -1) + 1
    return part.slice(head, Math.max(head, tail))
  })
  let text = cut[0] ?? ''
  for (const part of cut.slice(1)) text += text === '' || part === '' || text.endsWith('\n') ? part : ` ${part}`
  // "@bot, what …" and "@bot: what …"
  return text.trim().replace(/^[,:]\s{0,10}/, '')
}

/** The first index from `from` on that is neither a space nor a tab. */
function skipBlanks(text: string, from: number, step: 1 | -1): number {
  let index = from
  while (text[index] === ' ' || text[index] === '\t') index += step
  return index
}

function toAttachment(file: JsonRecord, voice: boolean): Attachment[] {
  const url = nonEmptyTextAt(file, 'url')
  if (url === undefined) return []
  const mimeType = nonEmptyTextAt(file, 'content_type')?.split(';', 1)[0]
  const fileName = nonEmptyTextAt(file, 'filename')
  const bytes = numberAt(file, 'size')
  return [
    {
      kind: voice ? 'voice' : kindOf(mimeType ?? ''),
      url,
      ref: url,
      mimeType,
      fileName,
      bytes,
    },
  ]
}

function kindOf(mimeType: string): Attachment['kind'] {
  if (mimeType.startsWith('image/')) return 'photo'
  if (mimeType.startsWith('video/')) return 'video'
  return mimeType.startsWith('audio/') ? 'audio' : 'document'
}

/** By `format_type`: PNG, APNG, GIF. Lottie (3) is a vector animation without an image file. */
const stickerFormats: Readonly<Record<number, { readonly extension: string; readonly mimeType: string }>> = {
  1: { extension: 'png', mimeType: 'image/png' },
  2: { extension: 'png', mimeType: 'image/png' },
  4: { extension: 'gif', mimeType: 'image/gif' },
}

function toSticker(sticker: JsonRecord): Attachment[] {
  const id = idAt(sticker, 'id')
  const name = nonEmptyTextAt(sticker, 'name')
  if (id === undefined || name === undefined) return []
  const format = stickerFormats[numberAt(sticker, 'format_type') ?? 0]
  if (format === undefined) return [{ kind: 'sticker', fileName: name }]
  const url = `https://media.discordapp.net/stickers/${id}.${format.extension}`
  return [{ kind: 'sticker', fileName: name, url, mimeType: format.mimeType }]
}
