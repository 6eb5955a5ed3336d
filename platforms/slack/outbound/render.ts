/**
 * Converts an `OutboundMessage` into posts of Slack. Pure, except that the Markdown parser is loaded on first use.
 */
import { type OutboundMessage, parseMarkdown } from '#sdk'
import type { JsonRecord } from '../inbound/payload.ts'
import { buttonRows, imageBlocks, maxBlocksChars, maxMarkdownBlockChars, sectionBlocks } from './blocks.ts'
import { splitText, truncate } from './chunk.ts'
import { escapeMarkdown } from './escape.ts'
import { escapeText, renderLinkMarkup, toMrkdwn } from './markup.ts'

/** One message in Slack. */
export interface Post {
  /** mrkdwn. With blocks it is shown only in notifications. */
  readonly text: string
  readonly blocks?: readonly JsonRecord[]
}

export interface RenderOptions {
  /** Replies are sent as a Markdown block if they fit in one. */
  readonly richBlocks: boolean
}

/** Slack truncates a text after 40,000 characters. Escaping may make a text longer. */
const maxPostChars = 39_900
/** `chat.update` rejects a longer text, unlike `chat.postMessage`. Counted in bytes. */
const maxEditBytes = 3_900
const cursor = ' ▉'

/** Usually one post. Several if the rendered text is too long, or if a long text has buttons. */
export async function renderPosts(message: OutboundMessage, { richBlocks }: RenderOptions): Promise<readonly Post[]> {
  const { text, buttons = [] } = message
  const mrkdwn = toMrkdwn(await parseMarkdown(text))
  if (buttons.length > 0) {
    const rows = buttonRows(buttons)
    if (mrkdwn.length <= maxBlocksChars)
      return [{ text: truncate(mrkdwn, maxPostChars), blocks: [...sectionBlocks(mrkdwn), ...rows] }]
    return [...splitIntoPosts(mrkdwn), { text: '⬆', blocks: [...sectionBlocks('⬆'), ...rows] }]
  }
  if (richBlocks && message.kind === 'reply' && text.length < maxMarkdownBlockChars - 1_000) {
    const markdown = await escapeMarkdown(text)
    if (markdown.length <= maxMarkdownBlockChars)
      return [{ text: truncate(mrkdwn, maxPostChars), blocks: [{ type: 'markdown', text: markdown }] }]
  }
  return splitIntoPosts(mrkdwn)
}

/** A reply in progress. */
export async function renderDraft(message: OutboundMessage): Promise<Post> {
  const mrkdwn = toMrkdwn(await parseMarkdown(`${message.text}${cursor}`))
  return { text: truncate(mrkdwn, maxPostChars) }
}

/** A post as blocks, for an edit with a long text; `undefined` if it is too long for blocks, too. */
export function toBlockPost({ text, blocks }: Post): Post | undefined {
  if (blocks === undefined && text.length > maxBlocksChars) return undefined
  return { text: truncateForEdit(text), blocks: blocks ?? sectionBlocks(text) }
}

export function isLongEdit({ text }: Post): boolean {
  return Buffer.byteLength(text) > maxEditBytes
}

/** Truncates a text to the limit of an edit. */
export function truncateForEdit(text: string): string {
  let short = truncate(text, maxEditBytes)
  while (Buffer.byteLength(short) > maxEditBytes) short = truncate(text, Math.floor(short.length * 0.75))
  return short
}

/** An image on the web. Slack downloads it itself, only over https. */
export function renderImage(url: string, name: string, caption: string): Post {
  const text = renderLink(url, name, caption)
  return /^https:\/\//i.test(url) && url.length <= 3_000 ? { text, blocks: imageBlocks(url, name, caption) } : { text }
}

/** A file on the web, as a link. */
export function renderLink(url: string, name: string, caption: string): string {
  return [caption, renderLinkMarkup(url, name)].filter((line) => line !== '').join('\n')
}

export async function renderCaption(text: string): Promise<string> {
  return toMrkdwn(await parseMarkdown(text))
}

/** A text without Markdown. */
export function renderPlainText(text: string): string {
  return escapeText(text)
}

function splitIntoPosts(mrkdwn: string): Post[] {
  return splitText(mrkdwn, maxPostChars).map((text) => ({ text }))
}
