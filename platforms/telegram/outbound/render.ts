/**
 * Converts an `OutboundMessage` into requests of the Bot API. Pure, except that the Markdown parser is loaded on first use.
 */
import { type Button, type OutboundMessage, parseMarkdown, type Target } from '#sdk'
import type { JsonRecord } from '../inbound/payload.ts'
import { stripHtml, toHtml } from './markup.ts'

export interface ApiRequest {
  readonly method: string
  readonly payload: JsonRecord
}

/** A text in one of the two formats of Telegram. */
export interface RenderedText {
  readonly text: string
  readonly isHtml: boolean
}

/** Limits in UTF-16 units of the text without tags. */
export const maxTextChars = 4_096
export const maxCaptionChars = 1_024

/**
 * Renders Markdown as HTML. Returns the original text if it contains no markup, or if rendering makes it longer than the
 * limit (padded tables, links with their address).
 */
export async function renderText(markdown: string, limit = maxTextChars): Promise<RenderedText> {
  const plain = { text: markdown.trim(), isHtml: false }
  if (!mayContainMarkup(markdown)) return plain
  const rendered = toHtml(await parseMarkdown(markdown))
  const html = mayExceedEntities(markdown) ? limitEntities(rendered) : rendered
  const visible = stripHtml(html).trim()
  return visible === '' || visible.length > limit ? plain : { text: html, isHtml: true }
}

/** Each entity needs two characters at least. */
function mayExceedEntities(markdown: string): boolean {
  return markdown.length > maxEntities * 2
}

/** Whether Telegram accepts all formatting of the text in one message. */
export function fitsEntities(markdown: string): boolean {
  return !mayExceedEntities(markdown) || countMarkers(markdown) <= maxEntities
}

/** A cheap test, so that short plain replies never load the parser. */
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
      // Notices of the gateway need no link previews.
      ...(kind === 'notice' ? { link_preview_options: { is_disabled: true } } : {}),
    },
  }
}

/** A message without buttons loses its former ones. `undefined` for an invalid message id. */
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

/** Bot API 9.5. All updates of a text have the same id. */
export function draftRequest(draftId: number, { target }: OutboundMessage, body: RenderedText): ApiRequest {
  return { method: 'sendMessageDraft', payload: { ...targetFields(target), draft_id: draftId, ...textFields(body) } }
}

/** The fields of a message with a file; `caption` is absent when it does not fit. */
export function mediaFields(
  { target, replyTo, buttons }: Pick<OutboundMessage, 'target' | 'replyTo' | 'buttons'>,
  caption: RenderedText | undefined,
): JsonRecord {
  return {
    ...targetFields(target),
    ...(caption === undefined ? {} : captionFields(caption)),
    ...replyFields(replyTo),
    ...keyboardFields(buttons),
  }
}

export function captionFields({ text, isHtml }: RenderedText): JsonRecord {
  return text === '' ? {} : { caption: text, ...(isHtml ? { parse_mode: 'HTML' } : {}) }
}

/** The topic General (id 1) is addressed by omitting the thread. */
function targetFields({ chatId, threadId }: Target): JsonRecord {
  const thread = threadId === undefined || threadId === '1' ? undefined : toMessageId(threadId)
  return { chat_id: toChatId(chatId), ...(thread === undefined ? {} : { message_thread_id: thread }) }
}

/** A numeric id, or the @name of a public channel. */
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
  // The message may have been deleted. The reply must be sent nevertheless.
  return id === undefined ? {} : { reply_parameters: { message_id: id, allow_sending_without_reply: true } }
}

/** Two buttons per row if all labels are short. */
function keyboardFields(buttons: readonly Button[] | undefined): JsonRecord {
  if (buttons === undefined || buttons.length === 0) return {}
  const keys = buttons.map(({ id, label }) => ({ text: label, callback_data: id }))
  const perRow = buttons.every(({ label }) => label.length <= 16) ? 2 : 1
  const rows = keys.flatMap((_, at) => (at % perRow === 0 ? [keys.slice(at, at + perRow)] : []))
  return { reply_markup: { inline_keyboard: rows } }
}

export const maxEntities = 100

/**
 * Estimates the entities of a Markdown text without parsing it; usually too many rather than too few. The outbox splits a
 * reply by this number. `limitEntities` handles the rest.
 */
export function countMarkers(markdown: string): number {
  let count = 0
  let text = markdown.replace(/^[ \t>]*(`{3,}|~{3,})[\s\S]*?(?:^[ \t>]*\1|$(?![\s\S]))/gm, () => {
    count += 1
    return ''
  })
  text = text.replace(/(?<!`)(`{1,9})(?!`)[^\n]*?[^`\n]\1(?!`)/g, () => {
    count += 1
    return ''
  })
  // A run of three markers is bold and italic; `_` inside of a word is text.
  const runs = text.match(/(?<!\\)(?:\*+(?=\S)|(?<=\S)\*+|~~|(?<!\w)_+(?=\S)|(?<=\S)_+(?!\w))/g) ?? []
  const ends = runs.reduce((sum, run) => sum + Math.ceil(run.length / 2), 0)
  const others = text.match(/\]\(|^#{1,6}[ \t]|^>|^\|[^\n|]*[^\s|:-]|<(?:b|i|u|s|em|strong|ins|del|code|kbd)>/gim) ?? []
  return count + Math.ceil(ends / 2) + others.length
}

/** The least important formatting first. */
const removableTags: readonly RegExp[] = [/<\/?i>/g, /<\/?[us]>/g, /<\/?b>/g, /<code>|<\/code>(?!<\/pre>)/g]

/** Removes formatting from HTML with too many entities. */
function limitEntities(html: string): string {
  let limited = html
  for (const tag of removableTags) {
    if (countEntities(limited) <= maxEntities) return limited
    limited = limited.replace(tag, '')
  }
  return limited
}

/** A code block with a language is one entity. */
function countEntities(html: string): number {
  return html.match(/<(?:b|i|u|s|a|code|pre|blockquote)\b(?! class=)/g)?.length ?? 0
}
