/**
 * Finds the known word that is closest to a mistyped one, for "did you mean ...?".
 */

const maxWordLength = 64

/**
 * Returns the known word with the smallest Damerau-Levenshtein distance, or `null` if the distance is more than a third
 * of the letters or more than three. Case, `-` and `_` are ignored.
 */
export function findClosestMatch(word: string, known: Iterable<string>): string | null {
  const normalized = normalizeWord(word)
  if (normalized === '' || word.length > maxWordLength) return null
  let best: string | null = null
  let bestDistance = Math.min(3, Math.max(1, Math.floor(normalized.length / 3))) + 1
  for (const candidate of known) {
    const other = normalizeWord(candidate)
    if (Math.abs(other.length - normalized.length) >= bestDistance) continue
    const distance = editDistance(normalized, other)
    if (distance >= bestDistance) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

function normalizeWord(word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, '')
}

/** Insertions, deletions, replacements and swaps of two adjacent letters cost one each. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let distance = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      )
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (swapped) distance = Math.min(distance, (beforeLast[column - 2] ?? 0) + 1)
      current.push(distance)
    }
    beforeLast = last
    last = current
  }
  return last[b.length] ?? 0
}
