/**
 * What of a memory file may reach a prompt. An entry that looks like an attack is replaced by a line that names it, so that one
 * entry does not take the others away, and the agent can remove it by its name.
 */
import { createHash } from 'node:crypto'
import { blockedText, scan } from '../context-files/scan.ts'
import { formatEntries } from './entries.ts'

export interface ShownEntries {
  readonly entries: readonly string[]
  /** What the scan found; empty for a harmless file. */
  readonly threats: readonly string[]
  /** The number of entries that are not shown. */
  readonly blocked: number
}

/** @param file the name of the file, such as `MEMORY.md` */
export function showEntries(file: string, entries: readonly string[]): ShownEntries {
  const threats = scanTogether(entries)
  if (threats.length === 0) return { entries, threats, blocked: 0 }
  const entriesByFile = new Map(
    entries.map((entry) => [entry, scan(entry, 'strict')] as const).filter(([, ids]) => ids.length > 0),
  )
  // The scan joins lines, so entries that are harmless alone may be an attack together: the last of them is blocked.
  for (;;) {
    const rest = entries.filter((entry) => !entriesByFile.has(entry))
    const ids = scanTogether(rest)
    const last = ids.length === 0 ? undefined : rest[lengthOfAttack(rest) - 1]
    if (last === undefined) break
    entriesByFile.set(last, ids)
  }
  const shown = (entry: string) => {
    const ids = entriesByFile.get(entry)
    return ids === undefined ? entry : blockedEntry(file, entry, ids)
  }
  return { entries: entries.map(shown), threats, blocked: entriesByFile.size }
}

const scanTogether = (entries: readonly string[]) => scan(formatEntries(entries), 'strict')

/** The number of first entries in which the scan finds something, when it does in all of them. */
function lengthOfAttack(entries: readonly string[]): number {
  let harmless = 0
  let index = entries.length
  while (index - harmless > 1) {
    const middle = Math.floor((harmless + index) / 2)
    if (scanTogether(entries.slice(0, middle)).length > 0) index = middle
    else harmless = middle
  }
  return index
}

function blockedEntry(file: string, entry: string, ids: readonly string[]): string {
  return blockedText(`the entry ${nameOf(entry)} of ${file}`, ids)
}

/** The entry that the line of a blocked entry, or a part of the line, names. */
export function findNamedEntry(entries: readonly string[], text: string): string | undefined {
  const [name] = /#[0-9a-f]{8}\b/.exec(text) ?? []
  return name === undefined ? undefined : entries.find((entry) => nameOf(entry) === name)
}

/** Depends on the text alone: a number would name another entry after a change of the file. */
function nameOf(entry: string): string {
  return `#${createHash('sha256').update(entry).digest('hex').slice(0, 8)}`
}
