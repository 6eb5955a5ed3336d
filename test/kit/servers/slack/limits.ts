/**
 * What Slack does not take: the sizes of texts and blocks.
 */
import { isJson } from './call.ts'
import type { Json } from './workspace.ts'

/** Slack cuts a longer text off and says so with a warning. */
export const maxPostChars = 40_000
/** An edit with a longer text is refused; counted in bytes, after escaping. */
export const maxEditBytes = 4_000
/** All text of the blocks of a message; not documented, measured by others at about 13,000. */
const maxBlocksChars = 13_000

/** Slack's word for what is wrong with blocks; undefined when nothing is. */
export function findInvalidBlocks(blocks: readonly Json[]): string | undefined {
  if (blocks.length > 50) return 'invalid_blocks'
  if (blocks.some((block) => !isValid(block))) return 'invalid_blocks'
  const text = blocks.map((block) => JSON.stringify(block)).join('').length
  return text > maxBlocksChars ? 'msg_blocks_too_long' : undefined
}

function isValid(block: Json): boolean {
  switch (block['type']) {
    case 'section':
      return textOf(block['text'], 3_000)
    case 'markdown':
      return typeof block['text'] === 'string' && block['text'].length <= 12_000
    case 'image':
      return isText(block['image_url'], 3_000) && isText(block['alt_text'], 2_000) && isPublic(block['image_url'])
    case 'actions':
      return Array.isArray(block['elements']) && block['elements'].length <= 25 && block['elements'].every(isButton)
    default:
      return false
  }
}

/** Slack fetches the picture itself. */
function isPublic(url: unknown): boolean {
  return typeof url === 'string' && url.startsWith('https://') && !url.includes('broken')
}

function isButton(element: unknown): boolean {
  if (!isJson(element) || element['type'] !== 'button') return false
  return isText(element['action_id'], 255) && isText(element['value'], 2_000) && textOf(element['text'], 75)
}

function textOf(object: unknown, limit: number): boolean {
  return isJson(object) && isText(object['text'], limit)
}

function isText(value: unknown, limit: number): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= limit
}
