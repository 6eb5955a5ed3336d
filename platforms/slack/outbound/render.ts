/**
 * From a message of ours to what Slack's calls take. Pure: data to data.
 */
import { type OutboundMessage, parseMarkdown } from '#sdk'
import type { JsonRecord } from '../inbound/payload.ts'
import { buttonRows, imageBlocks, maxBlocksChars, maxMarkdownBlockChars, sectionBlocks } from './blocks.ts'
import { splitText, truncate } from './chunk.ts'
import { escapeMentions } from './escape.ts'
import { escapeText, renderLinkMarkup, toMrkdwn } from './markup.ts'

/** One message in Slack. */
export interface Post {
  /** mrkdwn. Beside blocks it is what notifications show. */
  readonly text: string
  readonly blocks?: readonly JsonRecord[]
}

export interface RenderOptions {
  /** Answers go out as a Markdown block where they fit in one. */
  readonly richBlocks: boolean
}

/** Slack cuts a text off after 40,000 characters; escaping may have made ours longer than it was. */
const maxPostChars = 39_900
/** `chat.update` refuses a longer text, though `chat.postMessage` takes it; counted in bytes. */
const maxEditBytes = 3_900
const cursor = ' ▉'

/** Nearly always one post. Several where the rendered text has outgrown a message, or buttons stand below a long one. */
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
    return [{ text: truncate(mrkdwn, maxPostChars), blocks: [{ type: 'markdown', text: escapeMentions(text) }] }]
  }
  return splitIntoPosts(mrkdwn)
}

/** A reply that is still being written. */
export async function renderDraft(message: OutboundMessage): Promise<Post> {
  const mrkdwn = toMrkdwn(await parseMarkdown(`${message.text}${cursor}`))
  return { text: truncate(mrkdwn, maxPostChars) }
}

/** The same as blocks, for an edit whose text is longer than an edit may be; undefined where blocks cannot hold it either. */
export function toBlockPost({ text, blocks }: Post): Post | undefined {
  if (blocks === undefined && text.length > maxBlocksChars) return undefined
  return { text: truncateForEdit(text), blocks: blocks ?? sectionBlocks(text) }
}

export function isLongEdit({ text }: Post): boolean {
  return Buffer.byteLength(text) > maxEditBytes
}

/** What an edit may show of a text. */
export function truncateForEdit(text: string): string {
  let shown = truncate(text, maxEditBytes)
  while (Buffer.byteLength(shown) > maxEditBytes) shown = truncate(text, Math.floor(shown.length * 0.75))
  return shown
}

/** A picture that lies on the web: Slack fetches it itself, over https only. */
export function renderImage(url: string, name: string, caption: string): Post {
  const text = renderLink(url, name, caption)
  return /^https:\/\//i.test(url) && url.length <= 3_000 ? { text, blocks: imageBlocks(url, name, caption) } : { text }
}

/** A file that lies on the web, as a link. */
export function renderLink(url: string, name: string, caption: string): string {
  return [caption, renderLinkMarkup(url, name)].filter((line) => line !== '').join('\n')
}

export async function renderCaption(text: string): Promise<string> {
  return toMrkdwn(await parseMarkdown(text))
}

/** A line of the gateway's own, as it is. */
export function renderPlainText(text: string): string {
  return escapeText(text)
}

function splitIntoPosts(mrkdwn: string): Post[] {
  return splitText(mrkdwn, maxPostChars).map((text) => ({ text }))
}
