/**
 * From a message of ours to the body of the call that sends it. Pure, apart from loading the markdown lexer.
 */
import { createHash } from 'node:crypto'
import type { Button, OutboundMessage, Target } from '#sdk'
import { toDiscord } from './markdown.ts'
import type { AllowedMentions } from './options.ts'
import type { VoiceFacts } from './voice.ts'
import { isId, type Json } from './wire.ts'

/** What a message of Discord holds, in UTF-16 units. */
export const maxChars = 2_000

const suppressEmbeds = 1 << 2
const voiceMessage = 1 << 13

export interface File {
  readonly name: string
  readonly content: Blob
  /** Shown as a voice message. */
  readonly voice?: VoiceFacts
}

/** The body of `POST /channels/:id/messages`. `place` is the channel it goes to: a reference leads nowhere else. */
export async function renderMessage(
  message: OutboundMessage,
  place: string,
  mentions: AllowedMentions,
  file?: File,
): Promise<Json> {
  const { replyTo, target, kind, attachment } = message
  const picture = attachment?.source.kind === 'url' ? attachment.source.url : undefined
  const shown = picture !== undefined && (attachment?.kind === 'image' || attachment?.kind === 'animation')
  const text = picture === undefined || shown ? message.text : withLine(message.text, picture)
  const flags = (kind === 'notice' ? suppressEmbeds : 0) + (file?.voice === undefined ? 0 : voiceMessage)
  const refers = isId(replyTo) && liesIn(target, replyTo) === place
  return {
    ...(file?.voice === undefined ? { content: await contentOf(text) } : {}),
    allowed_mentions: allowedMentions(mentions),
    nonce: nonceOf(message.deliveryId),
    enforce_nonce: true,
    ...(flags === 0 ? {} : { flags }),
    ...(refers ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } } : {}),
    ...(shown ? { embeds: [{ image: { url: picture } }] } : {}),
    ...(message.buttons === undefined || message.buttons.length === 0 ? {} : { components: rowsOf(message.buttons) }),
    ...(file === undefined ? {} : { attachments: [attachmentOf(file)] }),
  }
}

/** The body of `PATCH /channels/:id/messages/:id`. Without buttons it takes those away that were there. */
export async function renderEdit(message: OutboundMessage, mentions: AllowedMentions): Promise<Json> {
  return {
    content: await contentOf(message.text),
    allowed_mentions: allowedMentions(mentions),
    components: rowsOf(message.buttons ?? []),
  }
}

/** The message that a thread was opened from lies in the channel, and has the id of the thread. */
export function liesIn({ chatId, threadId }: Target, messageId: string): string {
  return threadId === undefined || threadId === messageId ? chatId : threadId
}

/** The same delivery has the same nonce for ever: Discord answers a repeat with the message it has made before. */
export function nonceOf(deliveryId: string): string {
  return createHash('sha256').update(deliveryId).digest('base64url').slice(0, 24)
}

/** Tables and bold lines are longer than what was measured: then people get the markdown as it was written. */
async function contentOf(text: string): Promise<string> {
  const rendered = await toDiscord(text)
  return rendered.length <= maxChars ? rendered : text
}

/** Shut, except for what the settings open: no text may notify people by what a model was made to write. */
function allowedMentions({ everyone, roles, users, repliedUser }: AllowedMentions): Json {
  const kinds = { everyone, roles, users }
  return {
    parse: Object.entries(kinds).flatMap(([kind, open]) => (open ? [kind] : [])),
    replied_user: repliedUser,
  }
}

const perRow = 5
const rowLimit = 5
const labelLimit = 80
const styles = { primary: 1, secondary: 2, danger: 4 } as const

function rowsOf(buttons: readonly Button[]): readonly Json[] {
  const shown = buttons.slice(0, perRow * rowLimit).map(({ id, label, style }) => {
    return { type: 2, style: styles[style ?? 'secondary'], custom_id: id, label: cut(label, labelLimit) }
  })
  const rows: Json[] = []
  for (let at = 0; at < shown.length; at += perRow) rows.push({ type: 1, components: shown.slice(at, at + perRow) })
  return rows
}

function attachmentOf({ name, voice }: File): Json {
  const facts = voice === undefined ? {} : { duration_secs: voice.durationSecs, waveform: voice.waveform }
  return { id: 0, filename: name, ...facts }
}

export function cut(text: string, limit: number): string {
  const whole = text.trim() === '' ? '…' : text
  return whole.length <= limit ? whole : `${whole.slice(0, limit - 1).toWellFormed()}…`
}

function withLine(text: string, line: string): string {
  return text === '' ? line : `${text}\n${line}`
}
