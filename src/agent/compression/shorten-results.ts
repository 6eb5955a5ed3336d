/**
 * Shortens the newest tool results where they alone exceed the window of the model, as the last means: the calls stay, and
 * the beginning and the end of each result.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import { truncateMiddle } from '../support/result-json.ts'
import { estimateMessageTokens } from './context-size.ts'

/** A result is not made shorter than this, characters. */
const minChars = 500

/**
 * The results of the last response that are replaced so that `excess` tokens are saved, or as many as possible; the longest
 * are shortened most.
 */
export function shortenNewestResults(
  messages: readonly ChatMessage[],
  excess: number,
): readonly { readonly at: number; readonly message: ChatMessage }[] {
  const response = messages.findLastIndex(({ role }) => role === 'assistant')
  const results = messages.flatMap((message, at) =>
    at > response && message.role === 'tool' ? [{ at, message, tokens: estimateMessageTokens(message) }] : [],
  )
  const cap = findCap(
    results.map(({ tokens }) => tokens),
    excess,
  )
  return results.flatMap(({ at, message, tokens }) => {
    if (tokens <= cap) return []
    const chars = Math.max(minChars, Math.floor((message.content.length * cap) / tokens))
    return chars >= message.content.length
      ? []
      : [{ at, message: { ...message, content: truncateMiddle(message.content, chars) } }]
  })
}

/** The largest size such that cutting all sizes to it saves `excess`. */
function findCap(sizes: readonly number[], excess: number): number {
  const sorted = sizes.toSorted((a, b) => b - a)
  let saved = 0
  for (const [index, size] of sorted.entries()) {
    const count = index + 1
    const next = sorted[count] ?? 0
    const gain = (size - next) * count
    if (saved + gain >= excess) return size - (excess - saved) / count
    saved += gain
  }
  return 0
}
