/**
 * From a message of ours to what Slack's calls take. Pure: data to data.
 */
import { type OutboundMessage, parseMarkdown } from '#sdk'
import { blocksChars, buttonRows, markdownChars, picture, sections } from './blocks.ts'
import { escapeText, link, toMrkdwn } from './mrkdwn.ts'
import { neutralMarkdown } from './neutral-markdown.ts'
import type { Fields } from './payload.ts'
import { clip, cutPieces } from './pieces.ts'

/** One message in Slack. */
export interface Post {
  /** mrkdwn. Beside blocks it is what notifications show. */
  readonly text: string
  readonly blocks?: readonly Fields[]
}

export interface RenderOptions {
  /** Answers go out as a Markdown block where they fit in one. */
  readonly richBlocks: boolean
}

/** Slack cuts a text off after 40,000 characters; escaping may have made ours longer than it was. */
const postChars = 39_900
/** `chat.update` refuses a longer text, though `chat.postMessage` takes it; counted in bytes. */
const editBytes = 3_900
const cursor = ' ▉'

/** Nearly always one post. Several where the rendered text has outgrown a message, or buttons stand below a long one. */
export async function renderPosts(message: OutboundMessage, { richBlocks }: RenderOptions): Promise<readonly Post[]> {
  const { text, buttons = [] } = message
  const mrkdwn = toMrkdwn(await parseMarkdown(text))
  if (buttons.length > 0) {
    const rows = buttonRows(buttons)
    if (mrkdwn.length <= blocksChars) return [{ text: clip(mrkdwn, postChars), blocks: [...sections(mrkdwn), ...rows] }]
    return [...plainPosts(mrkdwn), { text: '⬆', blocks: [...sections('⬆'), ...rows] }]
  }
  if (richBlocks && message.kind === 'reply' && text.length < markdownChars - 1_000) {
    return [{ text: clip(mrkdwn, postChars), blocks: [{ type: 'markdown', text: neutralMarkdown(text) }] }]
  }
  return plainPosts(mrkdwn)
}

/** A reply that is still being written. */
export async function renderDraft(message: OutboundMessage): Promise<Post> {
  const mrkdwn = toMrkdwn(await parseMarkdown(`${message.text}${cursor}`))
  return { text: clip(mrkdwn, postChars) }
}

/** The same as blocks, for an edit whose text is longer than an edit may be; undefined where blocks cannot hold it either. */
export function asBlocks({ text, blocks }: Post): Post | undefined {
  if (blocks === undefined && text.length > blocksChars) return undefined
  return { text: clipBytes(text), blocks: blocks ?? sections(text) }
}

export function isLongEdit({ text }: Post): boolean {
  return Buffer.byteLength(text) > editBytes
}

/** What an edit may show of a text. */
export function clipBytes(text: string): string {
  let shown = clip(text, editBytes)
  while (Buffer.byteLength(shown) > editBytes) shown = clip(text, Math.floor(shown.length * 0.75))
  return shown
}

/** A picture that lies on the web: Slack fetches it itself, over https only. */
export function renderPicture(url: string, name: string, caption: string): Post {
  const text = renderLink(url, name, caption)
  return /^https:\/\//i.test(url) && url.length <= 3_000 ? { text, blocks: picture(url, name, caption) } : { text }
}

/** A file that lies on the web, as a link. */
export function renderLink(url: string, name: string, caption: string): string {
  return [caption, link(url, name)].filter((line) => line !== '').join('\n')
}

export async function renderCaption(text: string): Promise<string> {
  return toMrkdwn(await parseMarkdown(text))
}

/** A line of the gateway's own, as it is. */
export function renderLine(text: string): string {
  return escapeText(text)
}

function plainPosts(mrkdwn: string): Post[] {
  return cutPieces(mrkdwn, postChars).map((text) => ({ text }))
}
