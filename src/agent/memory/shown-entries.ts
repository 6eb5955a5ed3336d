/**
 * What of a memory file may reach a prompt. An entry that looks like an attack is replaced by a line that names it, so that one
 * entry does not take the others away, and the agent can remove it by its name.
 */
import { createHash } from 'node:crypto'
import { blockedText, scan } from '../context-files/scan.ts'

export interface ShownEntries {
  readonly entries: readonly string[]
  /** What the scan found; empty for a harmless file. */
  readonly threats: readonly string[]
  /** The number of entries that are not shown. */
  readonly blocked: number
}

/** @param file the name of the file, such as `MEMORY.md` */
export function showEntries(file: string, entries: readonly string[]): ShownEntries {
  // The scan looks at single lines, so no attack spans two entries.
  const found = entries.map((entry) => ({ entry, ids: scan(entry, 'strict') }))
  return {
    entries: found.map(({ entry, ids }) => (ids.length === 0 ? entry : blockedEntry(file, entry, ids))),
    threats: [...new Set(found.flatMap(({ ids }) => ids))],
    blocked: found.filter(({ ids }) => ids.length > 0).length,
  }
}

/** The entry, or the line that replaces it. */
export function showEntry(file: string, entry: string): string {
  const ids = scan(entry, 'strict')
  return ids.length === 0 ? entry : blockedEntry(file, entry, ids)
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
