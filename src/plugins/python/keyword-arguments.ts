/**
 * From what a callback is given here to the keyword arguments it gets in Python.
 */

/** Handles of this process, which mean nothing over there. */
const localOnlyKeys = new Set(['scope', 'signal', 'next_call'])

/** What is not wanted is not looked at: it would have to be copied. */
export function toKeywordArguments(
  payload: object,
  wanted: readonly string[] | null,
): Readonly<Record<string, unknown>> {
  const keywords: Record<string, unknown> = {}
  for (const key of Object.keys(payload)) {
    if (localOnlyKeys.has(key) || (wanted !== null && !wanted.includes(key))) continue
    const value: unknown = Reflect.get(payload, key)
    // JSON would leave it out, and a callback that names it would miss it.
    keywords[key] = value === undefined ? null : value
  }
  return keywords
}

export function pickSignal(payload: object): { readonly signal?: AbortSignal } {
  return 'signal' in payload && payload.signal instanceof AbortSignal ? { signal: payload.signal } : {}
}
