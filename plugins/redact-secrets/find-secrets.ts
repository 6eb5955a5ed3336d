/**
 * Finds secrets in a text: what looks like one, what the settings call one, and what was one before in the same session.
 */
import { findSecretRanges, type TextRange } from '#sdk'

export interface SecretSearch {
  readonly patterns: readonly RegExp[]
  readonly ignore: ReadonlySet<string>
  /** Secrets of this session so far. */
  known(): Iterable<string>
}

/** A shorter one would be found in ordinary words. */
const minKnownSecretLength = 8

/** In order, and none within another. */
export function findSecrets(text: string, { patterns, ignore, known }: SecretSearch): TextRange[] {
  const found = findSecretRanges(text)
  for (const pattern of patterns) {
    for (const match of text.matchAll(pattern)) {
      const from = match.index + (match[1] ?? '').length
      found.push([from, match.index + match[0].length])
    }
  }
  for (const secret of known()) {
    if (secret.length < minKnownSecretLength) continue
    for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + secret.length)) {
      found.push([at, at + secret.length])
    }
  }
  return found.length === 0
    ? found
    : mergeRanges(found).filter(([from, to]) => to > from && !ignore.has(text.slice(from, to)))
}

function mergeRanges(ranges: readonly TextRange[]): TextRange[] {
  const result: TextRange[] = []
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    const last = result.at(-1)
    if (last !== undefined && from < last[1]) result[result.length - 1] = [last[0], Math.max(last[1], to)]
    else result.push([from, to])
  }
  return result
}
