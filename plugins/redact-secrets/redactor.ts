/**
 * Replaces secrets in texts and requests with placeholders: text that looks like a secret, matches of the configured
 * patterns, and every secret that was found before in the same session.
 */
import { type Fields, findSecretRanges, mergeRanges, replaceRanges, type TextRange } from '#sdk'
import { isPlaceholder, type SecretStore } from './secret-store.ts'
import type { RedactSettings } from './settings.ts'
import { mapStrings, type SkipField } from './visit-strings.ts'

export interface Redactor {
  text(text: string): string
  /** Returns the same object if it contains no secret. Throws a `RangeError` for data that is nested too deep. */
  data(value: Fields, skipField: SkipField): Fields
  data(value: unknown, skipField: SkipField): unknown
}

/** Names of fields that contain a secret, whatever their value looks like. */
const secretFieldPattern = /token$|secret|passw|passphrase|credential|key$|authorization|cookie/i

/** A shorter secret would be found in ordinary words. */
const minKnownSecretLength = 8

export function createRedactor(
  session: SecretStore,
  { patterns, ignore }: Pick<RedactSettings, 'patterns' | 'ignore'>,
): Redactor {
  /** Sorted and without overlaps. */
  function findSecrets(text: string): TextRange[] {
    const ranges = [
      ...findSecretRanges(text),
      ...patterns.flatMap((pattern) => findMatches(text, pattern)),
      ...[...session.secrets()].flatMap((secret) => findOccurrences(text, secret)),
    ]
    return mergeRanges(ranges).filter(([from, to]) => to > from && !ignore.has(text.slice(from, to)))
  }

  function redactText(text: string): string {
    return replaceRanges(text, findSecrets(text), (secret) =>
      isPlaceholder(secret) ? secret : session.placeholderOf(secret),
    )
  }

  /** The built-in patterns recognise a field by its JSON text. */
  function redactField(text: string, key: string): string {
    const redacted = redactText(text)
    if (redacted !== text || !secretFieldPattern.test(key) || isPlaceholder(text) || ignore.has(text)) return redacted
    const isSecret = findSecrets(`${JSON.stringify(key)}:${JSON.stringify(text)}`).length > 0
    return isSecret ? session.placeholderOf(text) : text
  }

  function data(value: Fields, skipField: SkipField): Fields
  function data(value: unknown, skipField: SkipField): unknown
  function data(value: unknown, skipField: SkipField): unknown {
    const countBefore = session.count()
    const redacted = mapStrings(value, redactField, skipField)
    // A secret that was found near the end may also occur at the beginning.
    return session.count() === countBefore ? redacted : mapStrings(value, redactField, skipField)
  }

  return { text: redactText, data }
}

/** A secret is the match without its first group, as in the settings. */
function findMatches(text: string, pattern: RegExp): TextRange[] {
  return [...text.matchAll(pattern)].map((match) => [
    match.index + (match[1] ?? '').length,
    match.index + match[0].length,
  ])
}

function findOccurrences(text: string, secret: string): TextRange[] {
  const ranges: TextRange[] = []
  if (secret.length < minKnownSecretLength) return ranges
  for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length))
    ranges.push([at, at + secret.length])
  return ranges
}
