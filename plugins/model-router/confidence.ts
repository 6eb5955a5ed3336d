/**
 * Detects responses that sound uncertain.
 */
import { normalizeForComparison, type RouterSettings } from './settings.ts'

/** The reason in a few words for logs and counters; undefined for a response that is good enough. */
export function uncertaintyReason(
  response: string,
  { phrases, patterns, minChars }: Pick<RouterSettings, 'phrases' | 'patterns' | 'minChars'>,
): string | undefined {
  const text = response.trim()
  if (text.length < minChars) return 'short'
  const compared = normalizeForComparison(text)
  const phrase = phrases.find((phrase) => compared.includes(phrase))
  if (phrase !== undefined) return `phrase: ${phrase}`
  const pattern = patterns.find((pattern) => pattern.test(text))
  return pattern === undefined ? undefined : `pattern: ${pattern.source}`
}
