/**
 * Removes secrets from text: known secrets in every encoding in which they occur, and text that looks like a secret.
 *
 * Runs over every log line, so the time grows linearly with its length. Ordinary text must stay unchanged.
 */

import {
  createSecretMatcher,
  findSecretRanges,
  isFindableSecret,
  noSecrets,
  type SecretMatcher,
  type TextRange,
} from './find-secrets.ts'
import { toOneLine, toVisibleText } from './visible-text.ts'

/**
 * Returns the text without its secrets. Never throws. A JSON line usually stays JSON. What only looks like a secret stays if
 * `keeps` returns true for it.
 */
export type Redactor = (text: string, keeps?: (secret: string) => boolean) => string

export interface RedactorOptions {
  /** The known secrets. Called for each text, so that a new configuration applies immediately. See `isFindableSecret` for what is removed. */
  readonly secrets: () => readonly string[]
  /** Removes known secrets only. For text that must otherwise stay exact, such as source code. */
  readonly knownOnly?: boolean
}

/** The secrets known to the process. */
export interface SecretRegistry {
  /** Returns the same array until a secret changes. */
  all(): readonly string[]
  /** Returns the secrets that do not occur in everyday text. The same array until a secret changes. */
  distinctive(): readonly string[]
  /** Replaces the secrets of a source. The previous ones stay known, because text that contains them may still be written. */
  set(source: string, values: Iterable<string>): void
  /** Works like `set`, and forgets the previous secrets of the source, because they are worthless by then. */
  setShortLived(source: string, values: Iterable<string>): void
  /** Takes out the known secrets, and what looks like one. */
  readonly redact: Redactor
  /** Takes out known secrets that do not occur in everyday text: for text that must otherwise stay intact, such as a file. */
  readonly redactKnown: Redactor
}

const maxFormerSecrets = 200

export function createSecretRegistry(): SecretRegistry {
  const bySource = new Map<string, ReadonlySet<string>>()
  let former: string[] = []
  let all: readonly string[] = []
  let distinctive: readonly string[] = []
  const replace = (source: string, values: Iterable<string>) => {
    bySource.set(source, new Set([...values].filter(isFindableSecret)))
    all = [...new Set([...[...bySource.values()].flatMap((secrets) => [...secrets]), ...former])]
    distinctive = all.filter(isDistinctiveSecret)
  }
  return {
    all: () => all,
    distinctive: () => distinctive,
    set: (source, values) => {
      former = [...(bySource.get(source) ?? []), ...former].slice(0, maxFormerSecrets)
      replace(source, values)
    },
    setShortLived: replace,
    redact: createRedactor({ secrets: () => all }),
    redactKnown: createRedactor({ secrets: () => distinctive, knownOnly: true }),
  }
}

/** Short texts, and longer words and numbers, also occur in everyday text. */
export function isDistinctiveSecret(value: string): boolean {
  return value.length >= 12 || (value.length >= 8 && /\d/.test(value) && /[^\d.:\s-]/.test(value))
}

const redactedText = '[redacted]'

export function createRedactor({ secrets, knownOnly = false }: RedactorOptions): Redactor {
  const matcher = currentMatcher(secrets)
  return (text, keeps) => {
    // Both search the original text: a replacement by one must not hide the rest of a secret from the other.
    const textRanges = knownOnly ? [] : findSecretRanges(text)
    const ranges = keeps === undefined ? textRanges : textRanges.filter(([from, to]) => !keeps(text.slice(from, to)))
    ranges.push(...matcher().find(text))
    return replaceRanges(text, ranges, () => redactedText)
  }
}

/** A copy of plain data without secrets. Names of fields are redacted, too. */
export function redactTexts(value: unknown, redact: Redactor): unknown {
  if (typeof value === 'string') return redact(value)
  if (Array.isArray(value)) return value.map((item) => redactTexts(item, redact))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [redact(name), redactTexts(item, redact)]))
}

/** What replaces a secret in text for other people. */
export const withheldText = '[withheld: a secret of this gateway]'

/** Takes the known secrets out of what leaves the gateway. */
export interface SecretFilter {
  /** Returns the text itself if it has no secret. */
  withhold(text: string): string
  /** For a text that is still being written: its end is held back while it may be the beginning of a secret. */
  withholdPartial(text: string): string
  /** Finds secrets in a file that is read in pieces. */
  scanBytes(): (piece: Uint8Array) => boolean
}

/** @param secrets see `RedactorOptions` and `SecretRegistry.distinctive` */
export function createSecretFilter(secrets: () => readonly string[]): SecretFilter {
  const matcher = currentMatcher(secrets)
  return {
    withhold: (text) => replaceRanges(text, matcher().find(text), () => withheldText),
    withholdPartial(text) {
      const { find, incompleteFrom } = matcher()
      const end = incompleteFrom(text)
      const ranges = find(text)
      if (end === text.length) return replaceRanges(text, ranges, () => withheldText)
      // A secret that begins before the end is replaced as a whole.
      const shown = mergeRanges(ranges).filter(([from]) => from < end)
      const cut = Math.max(end, shown.at(-1)?.[1] ?? 0)
      return replaceRanges(text.slice(0, cut), shown, () => withheldText)
    },
    scanBytes() {
      const { find, maxLength } = createSecretMatcher(secrets(), (form) => Buffer.from(form).toString('latin1'))
      let rest = ''
      return (piece) => {
        const text = rest + Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1')
        rest = text.slice(Math.max(0, text.length - maxLength + 1))
        return find(text).length > 0
      }
    },
  }
}

/**
 * The beginning of a text as one line for people, with hidden characters made visible. Secrets leave the whole text first: a
 * search could not find one that was cut or rewritten.
 * @param maxChars in code points, with the ellipsis
 * @param withhold takes the secrets out of a text
 */
export function toShortLine(text: string, maxChars: number, withhold: (text: string) => string): string {
  const line = toOneLine(withhold(text))
  const characters = [...toVisibleText(line.slice(0, maxChars * 4).toWellFormed())]
  if (characters.length <= maxChars && line.length <= maxChars * 4) return characters.join('')
  return `${characters.slice(0, maxChars - 1).join('')}…`
}

/** Longer words without a space are data. */
const maxWordChars = 512
/** Chinese, Japanese and Korean are written without spaces; secrets are not written in them. */
const endsWord = /[\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/

/**
 * The beginning of a text that is redacted later, without the word that the cut would part: a part of a secret is not found.
 * Never splits a surrogate pair.
 */
export function beginningOf(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  if (endsWord.test(text.charAt(maxChars))) return text.slice(0, maxChars).toWellFormed()
  let end = maxChars
  while (end > 0 && maxChars - end < maxWordChars && !endsWord.test(text.charAt(end - 1))) end -= 1
  return text.slice(0, end).replace(/[\uD800-\uDBFF]$/, '')
}

/** Works like `beginningOf`, for the end of a text. */
export function endOf(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text
  const from = text.length - maxChars
  let start = from
  if (!endsWord.test(text.charAt(from - 1)))
    while (start < text.length && start - from < maxWordChars && !endsWord.test(text.charAt(start))) start += 1
  return text.slice(start).replace(/^[\uDC00-\uDFFF]/, '')
}

/** Compiles the secrets again when they have changed. */
function currentMatcher(secrets: () => readonly string[]): () => SecretMatcher {
  let known: readonly string[] = []
  let matcher = noSecrets
  return () => {
    const current = secrets()
    if (current !== known) {
      if (!sameItems(current, known)) matcher = createSecretMatcher(current)
      known = current
    }
    return matcher
  }
}

function sameItems(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index])
}

/** Replaces each group of overlapping ranges. */
export function replaceRanges(
  text: string,
  ranges: readonly TextRange[],
  replacement: (secret: string) => string,
): string {
  if (ranges.length === 0) return text
  let result = ''
  let end = 0
  for (const [from, to] of mergeRanges(ranges)) {
    result += text.slice(end, from) + replacement(text.slice(from, to))
    end = to
  }
  return result + text.slice(end)
}

/** Sorted ranges without overlaps. */
export function mergeRanges(ranges: readonly TextRange[]): TextRange[] {
  const merged: TextRange[] = []
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1)
    if (last !== undefined && from < last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], to)]
    else merged.push([from, to])
  }
  return merged
}
