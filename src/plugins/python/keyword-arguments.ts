/**
 * Converts the payload of a callback into keyword arguments for Python.
 */

/** Handles that exist only in the gateway process. */
const localOnlyKeys = new Set(['scope', 'signal', 'next_call'])

/** Reads only the requested keys, because reading a key copies its value. */
export function toKeywordArguments(
  payload: object,
  requested: readonly string[] | null,
): Readonly<Record<string, unknown>> {
  const keywords: Record<string, unknown> = {}
  for (const key of Object.keys(payload)) {
    if (localOnlyKeys.has(key) || (requested !== null && !requested.includes(key))) continue
    const value: unknown = Reflect.get(payload, key)
    // JSON omits undefined, and a callback with this parameter would fail.
    keywords[key] = value === undefined ? null : value
  }
  return keywords
}

export function pickSignal(payload: object): { readonly signal?: AbortSignal } {
  return 'signal' in payload && payload.signal instanceof AbortSignal ? { signal: payload.signal } : {}
}
