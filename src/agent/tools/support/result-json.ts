/**
 * Formats tool results as JSON strings of limited length.
 */
import { beginningOf, endOf } from '../../../lib/redact.ts'

/**
 * Replaces the middle of a long text by a line with the number of characters left out. Never splits a surrogate pair, nor a word:
 * it may be a secret, of which a part would not be found later.
 */
export function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const noteOf = (left: number) => `\n[… ${left} characters left out …]\n`
  const available = Math.max(0, maxChars - noteOf(text.length).length)
  const head = beginningOf(text, Math.ceil(available / 2))
  const tail = endOf(text, Math.floor(available / 2))
  return `${head}${noteOf(text.length - head.length - tail.length)}${tail}`
}

/**
 * Serializes a result. When the JSON is longer than `maxChars`, truncates the middle of the text in `field` until it fits,
 * so that the result stays valid JSON.
 */
export function toResultJson<Value extends Readonly<Record<string, unknown>>>(
  value: Value,
  maxChars: number,
  field?: keyof Value & string,
): string {
  const complete = JSON.stringify(value)
  const text = field === undefined ? undefined : value[field]
  if (complete.length <= maxChars || field === undefined || typeof text !== 'string') return complete
  let budget = text.length
  let result = complete
  for (let attempt = 0; attempt < 12 && result.length > maxChars && budget > 0; attempt++) {
    // Quotes and line breaks take two characters in JSON, so the budget shrinks by proportion.
    budget = Math.floor(budget * Math.min(0.95, maxChars / result.length))
    result = JSON.stringify({ ...value, [field]: truncateMiddle(text, budget) })
  }
  return result
}

/** Why a tool could not do its work: a stable code for programs, and a sentence for the model. */
export interface ToolFailure {
  readonly code: string
  readonly reason: string
}

/** The result of a tool that could not do its work. */
export function toErrorJson({ code, reason }: ToolFailure, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ error: reason, code, ...more })
}
