/**
 * Puts placeholders in the place of secrets, in texts and in whole requests.
 */
import type { Fields } from '#sdk'
import { secretsIn } from './find.ts'
import { isReplaced, type Session } from './sessions.ts'
import type { RedactSettings } from './settings.ts'
import { changed, type Spare } from './walk.ts'

export interface Redaction {
  text(text: string): string
  /** The very same object where there was nothing to do. Throws for data that cannot be looked through. */
  data(value: Fields, spare: Spare): Fields
  data(value: unknown, spare: Spare): unknown
}

/** A field that is called like this holds a secret, whatever that looks like. */
const secretField = /token$|secret|passw|passphrase|credential|key$|authorization|cookie/i

export function createRedaction(
  session: Session,
  { patterns, ignore }: Pick<RedactSettings, 'patterns' | 'ignore'>,
): Redaction {
  const search = { patterns, ignore, known: session.secrets }

  function text(given: string): string {
    let clean = ''
    let upTo = 0
    for (const [from, to] of secretsIn(given, search)) {
      const secret = given.slice(from, to)
      clean += given.slice(upTo, from) + (isReplaced(secret) ? secret : session.placeholderOf(secret))
      upTo = to
    }
    return clean + given.slice(upTo)
  }

  /** The patterns know fields by their JSON text. */
  function field(given: string, key: string): string {
    const clean = text(given)
    if (clean !== given || !secretField.test(key) || isReplaced(given) || ignore.has(given)) return clean
    const isSecret = secretsIn(`${JSON.stringify(key)}:${JSON.stringify(given)}`, search).length > 0
    return isSecret ? session.placeholderOf(given) : given
  }

  function data(value: Fields, spare: Spare): Fields
  function data(value: unknown, spare: Spare): unknown
  function data(value: unknown, spare: Spare): unknown {
    const before = session.count()
    const once = changed(value, field, spare)
    // What turned out to be a secret near the end may stand at the beginning, too.
    return session.count() === before ? once : changed(value, field, spare)
  }

  return { text, data }
}
