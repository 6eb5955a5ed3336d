/**
 * Reads what other apps write into blocks and attachments as text in Slack's markup. Slack shows the blocks of a message
 * instead of its text.
 */
import { createLineFilter } from '#sdk'
import { isTrueAt, type JsonRecord, recordAt, recordsAt, textAt } from './payload.ts'

/** Deeper than any real message. */
const maxDepth = 20

/** The text that Slack shows for a message, without its attachments. */
export function shownText(message: JsonRecord): string {
  const text = textAt(message, 'text') ?? ''
  const blocks = recordsAt(message, 'blocks')
  // A message of a user has only rich text, which its text contains as well.
  const isRepeated = text !== '' && blocks.every((block) => textAt(block, 'type') === 'rich_text')
  if (isRepeated) return text
  return joinLines(blocks.map((block) => blockText(block))) || text
}

/** A message that was passed on. Both parts are in Slack's markup. */
export interface SharedMessage {
  /** A line that says whose message it is; '' without content. */
  readonly origin: string
  readonly text: string
}

export function sharedMessageOf(attachment: JsonRecord): SharedMessage {
  const content = textAt(attachment, 'text') ?? messageBlocksText(attachment) ?? textAt(attachment, 'fallback') ?? ''
  const text = joinLines([content, ...recordsAt(attachment, 'attachments').map((inner) => appAttachmentText(inner))])
  if (text === '' && recordsAt(attachment, 'files').length === 0) return { origin: '', text }
  const author = textAt(attachment, 'author_name') ?? textAt(attachment, 'author_id') ?? 'unknown user'
  return { origin: `[${passedOn} ${author.replace(/[\r\n[\]]+/g, ' ')}]`, text }
}

const passedOn = 'Passed on, from'

/** Only the adapter says where a text comes from. For plain text: the markup can hide the beginning of a line. */
export const withoutForgedOrigin = createLineFilter({ brackets: [passedOn] })

/** An attachment that an app has created. */
export function appAttachmentText(attachment: JsonRecord): string {
  const title = textAt(attachment, 'title')
  const link = textAt(attachment, 'title_link')
  const parts = [
    textAt(attachment, 'pretext'),
    textAt(attachment, 'author_name'),
    title !== undefined && link !== undefined ? `<${link}|${title}>` : title,
    textAt(attachment, 'text'),
    ...recordsAt(attachment, 'blocks').map((block) => blockText(block)),
    ...recordsAt(attachment, 'fields').map(fieldText),
    textAt(attachment, 'footer'),
  ]
  return joinLines(parts) || (textAt(attachment, 'fallback') ?? '')
}

export function isSharedMessage(attachment: JsonRecord): boolean {
  return isTrueAt(attachment, 'is_share') || isTrueAt(attachment, 'is_msg_unfurl')
}

/** The preview of a link: its content is not part of the message. */
export function isLinkPreview(attachment: JsonRecord): boolean {
  return textAt(attachment, 'original_url') !== undefined || textAt(attachment, 'from_url') !== undefined
}

function messageBlocksText(attachment: JsonRecord): string | undefined {
  const blocks = recordsAt(attachment, 'message_blocks').flatMap((block) =>
    recordsAt(recordAt(block, 'message'), 'blocks'),
  )
  return joinLines(blocks.map((block) => blockText(block))) || undefined
}

function fieldText(field: JsonRecord): string {
  const title = textAt(field, 'title')
  const value = textAt(field, 'value') ?? ''
  return title === undefined ? value : `${title}: ${value}`
}

function blockText(block: JsonRecord): string {
  switch (textAt(block, 'type')) {
    case 'rich_text':
      return joinLines(recordsAt(block, 'elements').map((element) => richText(element)))
    case 'image':
      return `[image: ${objectText(block, 'title') || (textAt(block, 'alt_text') ?? 'no name')}]`
    case 'context':
      return recordsAt(block, 'elements')
        .map((element) => textAt(element, 'text') ?? `[image: ${textAt(element, 'alt_text') ?? 'no name'}]`)
        .join(' ')
    case 'actions':
      return recordsAt(block, 'elements')
        .map((element) => objectText(element, 'text'))
        .filter((label) => label !== '')
        .map((label) => `[${label}]`)
        .join(' ')
    case 'table':
      return tableText(block)
    default:
      return joinLines([
        objectText(block, 'text'),
        ...recordsAt(block, 'fields').map((field) => textAt(field, 'text') ?? ''),
      ])
  }
}

/** `{ "text": { "type": "mrkdwn", "text": … } }`, or a text itself in a block of Markdown. */
function objectText(owner: JsonRecord, key: string): string {
  return textAt(recordAt(owner, key), 'text') ?? textAt(owner, key) ?? ''
}

function tableText(block: JsonRecord): string {
  const rows = block['rows']
  if (!Array.isArray(rows)) return ''
  const lines = rows.map((row: unknown) =>
    recordsAt({ row }, 'row')
      .map((cell) => textAt(cell, 'text') ?? joinLines(recordsAt(cell, 'elements').map((element) => richText(element))))
      .join(' | '),
  )
  return joinLines(lines)
}

function richText(element: JsonRecord, depth = 0): string {
  if (depth > maxDepth) return ''
  const inner = recordsAt(element, 'elements').map((item) => richText(item, depth + 1))
  switch (textAt(element, 'type')) {
    case 'text':
      return escapeText(textAt(element, 'text') ?? '')
    case 'link':
      return linkText(element)
    case 'user':
      return `<@${textAt(element, 'user_id') ?? ''}>`
    case 'channel':
      return `<#${textAt(element, 'channel_id') ?? ''}>`
    case 'usergroup':
      return `<!subteam^${textAt(element, 'usergroup_id') ?? ''}>`
    case 'broadcast':
      return `<!${textAt(element, 'range') ?? 'channel'}>`
    case 'emoji':
      return `:${textAt(element, 'name') ?? ''}:`
    case 'date':
      return escapeText(textAt(element, 'fallback') ?? '')
    case 'rich_text_list':
      return joinLines(inner.map((item) => `• ${item}`))
    case 'rich_text_quote':
      return `&gt; ${inner.join('').replaceAll('\n', '\n&gt; ')}`
    case 'rich_text_preformatted':
      return `\`\`\`\n${inner.join('')}\n\`\`\``
    default:
      return inner.join('')
  }
}

function linkText(element: JsonRecord): string {
  const url = textAt(element, 'url') ?? ''
  const label = textAt(element, 'text')
  return label === undefined ? `<${url}>` : `<${url}|${escapeText(label)}>`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function joinLines(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join('\n')
}
