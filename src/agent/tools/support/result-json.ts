/**
 * Results of tools: JSON strings no longer than the model should have to read.
 */

/** Cuts the middle out of a text, between characters, with a line that says how much is missing. */
export function truncateMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const note = `\n[… ${text.length - maxChars} characters left out …]\n`
  const room = Math.max(0, maxChars - note.length)
  const head = text.slice(0, Math.ceil(room / 2)).replace(/[\uD800-\uDBFF]$/, '')
  const tail = text.slice(text.length - Math.floor(room / 2)).replace(/^[\uDC00-\uDFFF]/, '')
  return `${head}${note}${tail}`
}

/**
 * The result as JSON. When it is longer than `maxChars`, the middle of the text in `field` is cut until it fits, so that
 * it stays valid JSON.
 */
export function toResultJson<Value extends Readonly<Record<string, unknown>>>(
  value: Value,
  maxChars: number,
  field?: keyof Value & string,
): string {
  const whole = JSON.stringify(value)
  const text = field === undefined ? undefined : value[field]
  if (whole.length <= maxChars || field === undefined || typeof text !== 'string') return whole
  let budget = text.length
  let result = whole
  for (let tries = 0; tries < 12 && result.length > maxChars && budget > 0; tries++) {
    // Quotes and line breaks take two characters in JSON, so the budget shrinks by proportion.
    budget = Math.floor(budget * Math.min(0.95, maxChars / result.length))
    result = JSON.stringify({ ...value, [field]: truncateMiddle(text, budget) })
  }
  return result
}

/** What the model reads when a tool could not do its work. */
export function toErrorJson(message: string, more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({ error: message, ...more })
}
