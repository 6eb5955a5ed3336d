/**
 * Checks rendered messages against the rules of each API, and returns the text that a user sees.
 */
import assert from 'node:assert/strict'
import { findInvalidBlocks, maxPostChars } from '../servers/slack/limits.ts'
import { parseHtml } from '../servers/telegram/html.ts'

export interface TelegramText {
  readonly text: string
  readonly isHtml: boolean
}

/** Throws when Telegram would reject the message or ignore some of its formatting. */
export function readTelegramMessage({ text, isHtml }: TelegramText): string {
  const parsed = isHtml ? parseHtml(text) : { text: text.trim(), entities: [] }
  assert.notEqual(parsed.text, '', 'the message is empty')
  assert.ok(parsed.text.length <= 4_096, `the message has ${parsed.text.length} characters`)
  assert.ok(parsed.entities.length <= 100, `the message has ${parsed.entities.length} entities`)
  return parsed.text
}

/** Throws when Discord would reject the message, notify someone, or show an open fence. */
export function readDiscordMessage(body: Readonly<Record<string, unknown>>): string {
  const content = body['content']
  assert.ok(typeof content === 'string' && content.trim() !== '', 'the message is empty')
  assert.ok(content.length <= 2_000, `the message has ${content.length} characters`)
  assert.ok(content.isWellFormed(), 'the message contains half a character')
  assert.equal((content.match(/```/g)?.length ?? 0) % 2, 0, 'a code block is not closed')
  assert.deepEqual(body['allowed_mentions'], { parse: [], replied_user: false }, 'the message may notify users')
  return content
    .split(/(```[\s\S]*?```)/)
    .map((part, index) => (index % 2 === 1 ? codeOf(part) : readDiscordProse(part)))
    .join('')
}

function codeOf(fence: string): string {
  return fence.slice(3, -3).replace(/^[\w+#.-]*\n/, '')
}

function readDiscordProse(prose: string): string {
  return prose
    .replace(/\[([^\]\n]*)\]\(https?:\/\/[^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)/g, '$1')
    .replace(/\\([^0-9A-Za-z\s])/g, '$1')
}

export interface SlackPost {
  readonly text: string
  readonly blocks?: readonly Readonly<Record<string, unknown>>[]
}

/** Throws when Slack would reject or truncate the post, or read a mention or an open code block in it. */
export function readSlackPost({ text, blocks = [] }: SlackPost): string {
  assert.notEqual(text.trim(), '', 'the post is empty')
  assert.ok(text.length <= maxPostChars, `the post has ${text.length} characters`)
  assert.equal(findInvalidBlocks(blocks.map((block) => ({ ...block }))), undefined, 'the blocks are invalid')
  assert.doesNotMatch(text, /&(?!amp;|lt;|gt;)/, 'an ampersand is not escaped')
  const words = text.replace(
    /<((?:https?:\/\/|mailto:|tel:)[^<>|\s]*)(?:\|([^<>|\n]*))?>/gi,
    (_, url, label) => label ?? url,
  )
  assert.doesNotMatch(words, /</, 'an angle bracket is not escaped, or a mention')
  assert.doesNotMatch(words.replace(/^>/gm, ''), />/, 'an angle bracket is not escaped')
  assert.equal((text.match(/```/g)?.length ?? 0) % 2, 0, 'a code block is not closed')
  return words.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
