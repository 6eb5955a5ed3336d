/**
 * From an `OutboundMessage` to calls of the Bot API. Pure, apart from the parser that is loaded when first needed.
 */
import { type Button, type OutboundMessage, parseMarkdown, type Target } from '#sdk'
import type { JsonRecord } from '../inbound/payload.ts'
import { stripHtml } from './escape.ts'
import { toHtml } from './markup.ts'

export interface ApiRequest {
  readonly method: string
  readonly payload: JsonRecord
}

/** A text as Telegram takes it: HTML, or just text. */
export interface RenderedText {
  readonly text: string
  readonly isHtml: boolean
}

/** Telegram counts UTF-16 units, of what is left after parsing. */
export const maxTextChars = 4_096
export const maxCaptionChars = 1_024

/**
 * Markdown as HTML; as it is written where there is nothing to format, or where the formatted text would be too long (a
 * table drawn with blanks, a link shown in full) and the text itself is not.
 */
export async function renderText(markdown: string, limit = maxTextChars): Promise<RenderedText> {
  const plain = { text: markdown.trim(), isHtml: false }
  if (!mayContainMarkup(markdown)) return plain
  const html = toHtml(await parseMarkdown(markdown))
  const shown = stripHtml(html).trim()
  return shown === '' || shown.length > limit ? plain : { text: html, isHtml: true }
}

/** Cheap, so that short plain answers never load the parser. */
function mayContainMarkup(text: string): boolean {
  return /[\\`*_~[#>|<&]|^[ \t]*(?:[-+=]|\d+[.)])|^ {4}|\t| {2}\n/m.test(text)
}

export function sendRequest(message: OutboundMessage, body: RenderedText): ApiRequest {
  const { target, replyTo, buttons, kind } = message
  return {
    method: 'sendMessage',
    payload: {
      ...targetFields(target),
      ...textFields(body),
      ...replyFields(replyTo),
      ...keyboardFields(buttons),
      // What the gateway itself says should not unfold into pictures.
      ...(kind === 'notice' ? { link_preview_options: { is_disabled: true } } : {}),
    },
  }
}

/** Without buttons the message loses those it had. Undefined for an id that is none of Telegram's. */
export function editRequest(messageId: string, message: OutboundMessage, body: RenderedText): ApiRequest | undefined {
  const id = toMessageId(messageId)
  if (id === undefined) return undefined
  const { target, buttons, kind } = message
  return {
    method: 'editMessageText',
    payload: {
      chat_id: toChatId(target.chatId),
      message_id: id,
      ...textFields(body),
      ...keyboardFields(buttons),
      ...(kind === 'notice' ? { link_preview_options: { is_disabled: true } } : {}),
    },
  }
}

export function deleteRequest({ chatId }: Target, messageId: string): ApiRequest | undefined {
  const id = toMessageId(messageId)
  return id === undefined
    ? undefined
    : { method: 'deleteMessage', payload: { chat_id: toChatId(chatId), message_id: id } }
}

export function typingRequest(target: Target): ApiRequest {
  return { method: 'sendChatAction', payload: { ...targetFields(target), action: 'typing' } }
}

/** The fields that every message with a file has; `caption` where it fits. */
export function mediaFields(
  { target, replyTo, buttons }: OutboundMessage,
  caption: RenderedText | undefined,
): JsonRecord {
  return {
    ...targetFields(target),
    ...(caption === undefined || caption.text === ''
      ? {}
      : { caption: caption.text, ...(caption.isHtml ? { parse_mode: 'HTML' } : {}) }),
    ...replyFields(replyTo),
    ...keyboardFields(buttons),
  }
}

/** The topic General is addressed by naming none. */
function targetFields({ chatId, threadId }: Target): JsonRecord {
  const thread = threadId === undefined || threadId === '1' ? undefined : toMessageId(threadId)
  return { chat_id: toChatId(chatId), ...(thread === undefined ? {} : { message_thread_id: thread }) }
}

/** A number, or the @name of a public channel. */
function toChatId(chatId: string): number | string {
  const id = Number(chatId)
  return Number.isSafeInteger(id) ? id : chatId
}

function toMessageId(text: string): number | undefined {
  const id = Number(text)
  return Number.isSafeInteger(id) && id > 0 ? id : undefined
}

function textFields({ text, isHtml }: RenderedText): JsonRecord {
  return { text, ...(isHtml ? { parse_mode: 'HTML' } : {}) }
}

function replyFields(replyTo: string | undefined): JsonRecord {
  const id = replyTo === undefined ? undefined : toMessageId(replyTo)
  // The message may have been deleted meanwhile; the answer must come all the same.
  return id === undefined ? {} : { reply_parameters: { message_id: id, allow_sending_without_reply: true } }
}

/** Short labels share a line, in pairs. */
function keyboardFields(buttons: readonly Button[] | undefined): JsonRecord {
  if (buttons === undefined || buttons.length === 0) return {}
  const keys = buttons.map(({ id, label }) => ({ text: label, callback_data: id }))
  const perRow = buttons.every(({ label }) => label.length <= 16) ? 2 : 1
  const rows = keys.flatMap((_, at) => (at % perRow === 0 ? [keys.slice(at, at + perRow)] : []))
  return { reply_markup: { inline_keyboard: rows } }
}
