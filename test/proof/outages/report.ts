/**
 * The outages part of the proof: every kind of failure, outages of 8 s and 60 s with real processes, and of ten minutes
 * with a clock that only advances while something waits.
 */
import { settingsWith } from '../../agent/in-memory-deps.ts'
import { runFailureTable } from './failure-table.ts'
import { type LongOutageResult, runLongOutage } from './long-outage.ts'
import { type OutageResult, outageKinds, runOutage } from './outage.ts'

export interface OutagesReport {
  readonly lines: readonly string[]
  readonly kept: boolean
}

const messagesPerKind = 8
const longOutageMs = 600_000

export async function proveOutages(progress: (line: string) => void): Promise<OutagesReport> {
  progress('kinds of failure')
  const rows = await runFailureTable()
  const mismatches = rows.filter(({ expected, found }) => expected !== found)
  const lines = [`Failures of a model server: ${rows.length} kinds`]
  for (const { name, found, expected, calls, problem } of rows) {
    const mismatch = found === expected ? '' : `, EXPECTED ${expected}`
    lines.push(`  ${name}: ${found}${mismatch}${problem === '' ? '' : ` (${problem})`}, ${calls} calls`)
  }
  let kept = mismatches.length === 0
  for (const outageMs of [8_000, 60_000]) {
    progress(`outages of ${outageMs / 1_000} s`)
    const results = await Promise.all(
      outageKinds.map((kind) => runOutage({ kind, messages: messagesPerKind, outageMs, agent: '', limitMs: 180_000 })),
    )
    lines.push(...outageLines(outageMs, results))
    kept &&= results.every(({ answered, messages, errors }) => answered === messages && errors.length === 0)
  }
  progress('outages of ten minutes')
  const { agent } = settingsWith()
  for (const kind of ['rate-limit', 'overloaded', 'network', 'timeout'] as const) {
    const result = await runLongOutage(kind, longOutageMs, agent, Math.random)
    lines.push(longOutageLine(kind, result))
    kept &&= result.isAnswered
  }
  return { lines, kept }
}

function outageLines(outageMs: number, results: readonly OutageResult[]): string[] {
  const sum = (count: (result: OutageResult) => number) => results.reduce((total, one) => total + count(one), 0)
  const answered = sum((result) => result.answered)
  return [
    `Outages of ${outageMs / 1_000} s: ${answered} of ${sum(({ messages }) => messages)} messages answered`,
    ...results.map(
      ({ kind, answered: own, messages, errors, notices, seconds }) =>
        `  ${kind}: ${own} of ${messages}, errors: ${errors.length}, notices: ${notices}, ${seconds.toFixed(0)} s`,
    ),
  ]
}

function longOutageLine(kind: string, { isAnswered, calls, waitedMs }: LongOutageResult): string {
  const outcome = isAnswered ? 'answered' : 'NOT ANSWERED'
  return `Outage of ${longOutageMs / 60_000} min (${kind}): ${outcome} after ${(waitedMs / 60_000).toFixed(1)} min and ${calls} calls`
}
