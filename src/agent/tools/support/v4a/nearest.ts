/**
 * Says which lines of a text are most like the lines that a patch expects there, for the model that wrote the patch.
 */
import { toOneLine } from '../../../../lib/visible-text.ts'

const maxCompared = 200
const maxShownChars = 200

/** '' when nothing is alike; otherwise a sentence with a space before it. The work is bounded. */
export function describeNearest(lines: readonly string[], searched: readonly string[]): string {
  const start = bestStart(lines, searched)
  if (start === undefined) return describeSimilarLine(lines, searched)
  const wrong = searched.findIndex((text, index) => toOneLine(lines[start + index] ?? '') !== toOneLine(text))
  const number = start + wrong + 1
  const line = lines[start + wrong]
  const difference = line === undefined ? `the file ends at line ${lines.length}` : `line ${number} is ${quote(line)}`
  return ` The nearest lines start at line ${start + 1}: there the patch expects ${quote(searched[wrong] ?? '')}, but ${difference}.`
}

/** Where most lines agree. */
function bestStart(lines: readonly string[], searched: readonly string[]): number | undefined {
  const wanted = new Map<string, number[]>()
  for (const [index, text] of searched.slice(0, maxCompared).entries()) {
    const key = toOneLine(text)
    if (key.length < 3) continue
    const indexes = wanted.get(key) ?? []
    if (indexes.length < 5) wanted.set(key, [...indexes, index])
  }
  const votes = new Map<number, number>()
  for (const [at, line] of lines.entries()) {
    for (const index of wanted.get(toOneLine(line)) ?? []) {
      const start = at - index
      if (start >= 0) votes.set(start, (votes.get(start) ?? 0) + 1)
    }
  }
  let best: number | undefined
  for (const [start, count] of votes) if (best === undefined || count > (votes.get(best) ?? 0)) best = start
  return best
}

/** For lines of which none is in the text: a line that begins and ends like the first one. */
function describeSimilarLine(lines: readonly string[], searched: readonly string[]): string {
  const text = toOneLine(searched.find((line) => line.trim() !== '') ?? '').slice(0, maxShownChars)
  if (text === '') return ''
  let best = { share: 0.5, index: -1 }
  for (const [index, line] of lines.entries()) {
    const other = line.slice(0, 2 * maxShownChars).trim()
    const share = commonEnds(text, other) / Math.max(text.length, other.length, 1)
    if (share > best.share) best = { share, index }
  }
  return best.index === -1 ? '' : ` Line ${best.index + 1} is similar: ${quote(lines[best.index] ?? '')}.`
}

/** How many characters both texts have in common at the beginning and at the end. */
function commonEnds(a: string, b: string): number {
  const max = Math.min(a.length, b.length)
  let start = 0
  while (start < max && a[start] === b[start]) start += 1
  let end = 0
  while (end < max - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  return start + end
}

function quote(text: string): string {
  return JSON.stringify(text.length > maxShownChars ? `${text.slice(0, maxShownChars)} [...]` : text)
}
