/**
 * Whether an answer sounds unsure, and why.
 */
import { normalizeForComparison, type RouterSettings } from './settings.ts'

/** In a few words, for logs and counters; undefined for an answer that is good enough. */
export function uncertaintyReason(
  answer: string,
  { phrases, patterns, minChars }: Pick<RouterSettings, 'phrases' | 'patterns' | 'minChars'>,
): string | undefined {
  const text = answer.trim()
  if (text.length < minChars) return 'short'
  const compared = normalizeForComparison(text)
  const phrase = phrases.find((one) => compared.includes(one))
  if (phrase !== undefined) return `phrase: ${phrase}`
  const pattern = patterns.find((one) => one.test(text))
  return pattern === undefined ? undefined : `pattern: ${pattern.source}`
}
