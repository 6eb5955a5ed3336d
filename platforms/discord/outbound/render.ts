/**
 * Renders outbound messages to request bodies. Pure, apart from loading the Markdown lexer.
 */
import { createHash } from 'node:crypto'
import type { Button, OutboundMessage, Target } from '#sdk'
import { isSnowflake, type JsonRecord } from '../inbound/payload.ts'
import type { AllowedMentions } from '../options.ts'
import { closeFence, toDiscordMarkdown } from './markup.ts'
import type { VoiceMetadata } from './voice.ts'

/** Limit of a message, in UTF-16 units. */
export const maxChars = 2_000

const suppressEmbedsFlag = 1 << 2
const voiceMessageFlag = 1 << 13

export interface OutboundFile {
  readonly name: string
  readonly content: Blob
  /** Shown as a voice message. */
  readonly voice?: VoiceMetadata
}

/** The body of `POST /channels/:id/messages`. `channelId` is the channel it is sent to; a reply can refer only to a message of the same channel. */
export async function renderMessage(
  message: OutboundMessage,
  channelId: string,
  mentions: AllowedMentions,
  files: readonly OutboundFile[] = [],
): Promise<JsonRecord> {
  const isVoice = files.some(({ voice }) => voice !== undefined)
  const { replyTo, target, kind, attachment } = message
  const fileUrl = attachment?.source.kind === 'url' ? attachment.source.url : undefined
  const shown = fileUrl !== undefined && (attachment?.kind === 'image' || attachment?.kind === 'animation')
  const text = fileUrl === undefined || shown ? message.text : appendLine(message.text, fileUrl)
  const flags = (kind === 'notice' ? suppressEmbedsFlag : 0) + (isVoice ? voiceMessageFlag : 0)
  const isReply = isSnowflake(replyTo) && channelOfMessage(target, replyTo) === channelId
  return {
    ...(isVoice ? {} : { content: await renderContent(text) }),
    allowed_mentions: allowedMentions(mentions),
    nonce: nonceOf(message.deliveryId),
    enforce_nonce: true,
    ...(flags === 0 ? {} : { flags }),
    ...(isReply ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } } : {}),
    ...(shown ? { embeds: [{ image: { url: fileUrl } }] } : {}),
    ...(message.buttons === undefined || message.buttons.length === 0
      ? {}
      : { components: renderButtons(message.buttons) }),
    ...(files.length === 0 ? {} : { attachments: files.map(attachmentFields) }),
  }
}

/** The body of `PATCH /channels/:id/messages/:id`. Removes existing buttons unless the message has some. */
export async function renderEdit(message: OutboundMessage, mentions: AllowedMentions): Promise<JsonRecord> {
  return {
    content: await renderContent(message.text),
    allowed_mentions: allowedMentions(mentions),
    components: renderButtons(message.buttons ?? []),
  }
}

/** The channel of a message. A message that a thread was opened from has the id of the thread and is in the parent channel. */
export function channelOfMessage({ chatId, threadId }: Target, messageId: string): string {
  return threadId === undefined || threadId === messageId ? chatId : threadId
}

/** Derived from the delivery, so that Discord returns the existing message for a repeated call. */
export function nonceOf(deliveryId: string): string {
  return createHash('sha256').update(deliveryId).digest('base64url').slice(0, 24)
}

/** Falls back to the original Markdown when rendering exceeds the limit: tables and bold lines add characters. */
async function renderContent(text: string): Promise<string> {
  const rendered = await toDiscordMarkdown(text)
  return rendered.length <= maxChars ? rendered : closeFence(text)
}

/** Mentions notify no one by default, because a user can make the model write them. */
function allowedMentions({ everyone, roles, users, repliedUser }: AllowedMentions): JsonRecord {
  const kinds = { everyone, roles, users }
  return {
    parse: Object.entries(kinds).flatMap(([kind, open]) => (open ? [kind] : [])),
    replied_user: repliedUser,
  }
}

const buttonsPerRow = 5
const maxRows = 5
const maxLabelChars = 80
const buttonStyles = { primary: 1, secondary: 2, danger: 4 } as const

function renderButtons(buttons: readonly Button[]): readonly JsonRecord[] {
  const shown = buttons.slice(0, buttonsPerRow * maxRows).map(({ id, label, style }) => {
    return { type: 2, style: buttonStyles[style ?? 'secondary'], custom_id: id, label: truncate(label, maxLabelChars) }
  })
  const rows: JsonRecord[] = []
  for (let at = 0; at < shown.length; at += buttonsPerRow)
    rows.push({ type: 1, components: shown.slice(at, at + buttonsPerRow) })
  return rows
}

function attachmentFields({ name, voice }: OutboundFile, index: number): JsonRecord {
  const metadata = voice === undefined ? {} : { duration_secs: voice.durationSecs, waveform: voice.waveform }
  return { id: index, filename: name, ...metadata }
}

export function truncate(text: string, limit: number): string {
  const whole = text.trim() === '' ? '…' : text
  return whole.length <= limit ? whole : `${whole.slice(0, limit - 1).toWellFormed()}…`
}

function appendLine(text: string, line: string): string {
  return text === '' ? line : `${text}\n${line}`
}
