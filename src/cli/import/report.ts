/**
 * Prints what an import has done, or would do.
 */

import { toSingleLine } from '../../lib/visible-text.ts'
import type { Display, Tone } from '../kit/display.ts'
import type { ImportEntry, ImportResult } from './contract.ts'

export interface ImportReport {
  readonly kind: string
  /** The real path of the other home. */
  readonly source: string
  readonly home: string
  readonly dryRun: boolean
  readonly entries: readonly ImportEntry[]
}

interface Section {
  readonly result: ImportResult
  readonly done: string
  readonly planned: string
  readonly tone: Tone
}

const sections: readonly Section[] = [
  { result: 'taken', done: 'Taken', planned: 'Would be taken', tone: 'good' },
  { result: 'changed', done: 'Taken in another form', planned: 'Would be taken in another form', tone: 'good' },
  {
    result: 'conflict',
    done: 'Not taken: this home has something else (--overwrite replaces it)',
    planned: 'Would not be taken: this home has something else (--overwrite replaces it)',
    tone: 'warn',
  },
  { result: 'failed', done: 'Could not be taken', planned: 'Cannot be taken', tone: 'bad' },
  { result: 'left', done: 'Left', planned: 'Would be left', tone: 'dim' },
]

export function countResults(entries: readonly ImportEntry[]): Readonly<Record<ImportResult, number>> {
  const counts = { taken: 0, changed: 0, same: 0, conflict: 0, left: 0, failed: 0 }
  for (const { result } of entries) counts[result] += 1
  return counts
}

export function printReport(display: Display, report: ImportReport): void {
  const { source, home, dryRun, entries } = report
  display.line(toSingleLine(`${dryRun ? 'Nothing is written. ' : ''}From ${source} to ${home}`))
  for (const { result, done, planned, tone } of sections) {
    const matching = entries.filter((entry) => entry.result === result)
    if (matching.length === 0) continue
    display.line()
    display.line(display.tone(tone === 'dim' ? 'strong' : tone, dryRun ? planned : done))
    for (const { area, name, reason } of matching) {
      const text = `  ${area.padEnd(13)} ${toSingleLine(name)}`
      display.line(reason === '' ? text : `${text}: ${toSingleLine(reason)}`)
    }
  }
  // The name of an entry about conversations is their number.
  const same = entries
    .filter(({ result }) => result === 'same')
    .reduce((sum, { area, name }) => sum + (area === 'conversations' ? Number(name) : 1), 0)
  if (same > 0) {
    display.line()
    display.line(same === 1 ? '1 thing is here already.' : `${same} things are here already.`)
  }
  display.line()
  for (const line of nextSteps(report)) display.line(line)
}

function nextSteps({ dryRun, entries, kind }: ImportReport): readonly string[] {
  const { taken, changed } = countResults(entries)
  if (dryRun) return ['Run the same command without --dry-run to import.']
  if (taken + changed === 0) return ['Nothing has changed.']
  return [
    `Next: stop ${kind === 'hermes' ? 'Hermes Agent' : 'OpenClaw'}, because two programs cannot receive for one bot.`,
    'Then: hermes config check && hermes doctor && hermes gateway run',
  ]
}
