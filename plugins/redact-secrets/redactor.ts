/**
 * Puts placeholders in the place of secrets, in texts and in whole requests.
 */
import type { Fields } from '#sdk'
import { findSecrets } from './find-secrets.ts'
import { isPlaceholder, type SecretStore } from './secret-store.ts'
import type { RedactSettings } from './settings.ts'
import { mapStrings, type SkipField } from './visit-strings.ts'

export interface Redactor {
  text(text: string): string
  /** The very same object where there was nothing to do. Throws for data that cannot be looked through. */
  data(value: Fields, spare: SkipField): Fields
  data(value: unknown, spare: SkipField): unknown
}

/** A field that is called like this holds a secret, whatever that looks like. */
const secretFieldPattern = /token$|secret|passw|passphrase|credential|key$|authorization|cookie/i

export function createRedactor(
  session: SecretStore,
  { patterns, ignore }: Pick<RedactSettings, 'patterns' | 'ignore'>,
): Redactor {
  const search = { patterns, ignore, known: session.secrets }

  function text(given: string): string {
    let clean = ''
    let upTo = 0
    for (const [from, to] of findSecrets(given, search)) {
      const secret = given.slice(from, to)
      clean += given.slice(upTo, from) + (isPlaceholder(secret) ? secret : session.placeholderOf(secret))
      upTo = to
    }
    return clean + given.slice(upTo)
  }

  /** The patterns know fields by their JSON text. */
  function field(given: string, key: string): string {
    const clean = text(given)
    if (clean !== given || !secretFieldPattern.test(key) || isPlaceholder(given) || ignore.has(given)) return clean
    const isSecret = findSecrets(`${JSON.stringify(key)}:${JSON.stringify(given)}`, search).length > 0
    return isSecret ? session.placeholderOf(given) : given
  }

  function data(value: Fields, skipField: SkipField): Fields
  function data(value: unknown, spare: SkipField): unknown
  function data(value: unknown, spare: SkipField): unknown {
    const before = session.count()
    const redacted = mapStrings(value, field, spare)
    // What turned out to be a secret near the end may stand at the beginning, too.
    return session.count() === before ? redacted : mapStrings(value, field, spare)
  }

  return { text, data }
}
