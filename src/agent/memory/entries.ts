/**
 * The format of MEMORY.md and USER.md (contract §4.6): entries of one or more lines, with a line `§` between two of them.
 */

import type { MemoryTarget } from './contract.ts'

export const memoryFileNames: Readonly<Record<MemoryTarget, string>> = { memory: 'MEMORY.md', user: 'USER.md' }

const separator = '§'

/**
 * The entries of a text: trimmed, without empty ones, each once. Lines may end with CRLF. No entry has a line that is only
 * `§`, so that the result of `formatEntries` has the same entries.
 */
export function parseEntries(text: string): string[] {
  const entries: string[][] = [[]]
  for (const line of text.replace(/\r\n?/g, '\n').split('\n')) {
    if (line.trim() === separator) entries.push([])
    else entries.at(-1)?.push(line)
  }
  return withoutDuplicates(entries.map((lines) => lines.join('\n').trim()).filter((entry) => entry !== ''))
}

export function formatEntries(entries: readonly string[]): string {
  return entries.join(`\n${separator}\n`)
}

export function withoutDuplicates(entries: readonly string[]): string[] {
  return [...new Set(entries)]
}

/** Characters as Hermes counts them: code points. */
export function countChars(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

/** `67% — 1,474/2,200 chars`. Above the limit it says 100 %. */
export function formatUsage(entries: readonly string[], limit: number): string {
  const chars = countChars(formatEntries(entries))
  const percent = Math.min(100, Math.floor((chars / limit) * 100))
  return `${percent}% — ${withThousands(chars)}/${withThousands(limit)} chars`
}

export function withThousands(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ',')
}
