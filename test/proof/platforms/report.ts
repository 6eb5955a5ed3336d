/**
 * The result of the platform proof as a table of faults and their effects.
 */
import { availableParallelism, loadavg } from 'node:os'
import { quantile } from '../../bench/kit/stats.ts'
import { bars, type EpisodeCounts, type PlatformCounts, type PlatformsResult } from './evaluation.ts'

export function platformsReport({
  episodes,
  platforms,
  outboxDeadLetters: deadLetters,
  seconds,
}: PlatformsResult): string[] {
  // Times are less meaningful on a loaded machine.
  const load = `${loadavg()[1]?.toFixed(1)} on ${availableParallelism()} processors`
  return [
    `Platforms with faults: ${platforms.map(({ platform }) => platform).join(', ')}; ${seconds.toFixed(0)} s; machine load ${load}`,
    ...table(episodes.filter(({ fault: scenario }) => scenario !== undefined)),
    ...platforms.flatMap(totals),
    `  dead letters of the outbox at the end: ${counted(deadLetters)}`,
  ]
}

const heads = [
  'platform',
  'fault',
  'messages',
  'lost',
  'duplicates',
  'labelled',
  'first answer',
  'caught up',
  'others p95',
]

function table(episodes: readonly EpisodeCounts[]): string[] {
  const lines = episodes.map((one) => [
    one.platform,
    one.fault ?? '',
    String(one.messageCount),
    String(one.lost),
    String(one.unlabelled),
    String(one.labelled),
    `${inMs(one.firstAnswerMs)}${one.measures === 'nothing' ? '' : one.measures === 'noticed' ? ' (noticed)' : ' *'}`,
    `${inMs(one.caughtUpMs)}${(one.postponed ?? 0) > 0 ? ` (${one.postponed} postponed)` : ''}`,
    inMs(one.othersP95),
  ])
  const widths = heads.map((head, at) => Math.max(head.length, ...lines.map((line) => line[at]?.length ?? 0)))
  const row = (cells: readonly string[]) =>
    `  ${cells.map((cell, at) => (at < 2 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}`
  return [row(heads), ...lines.map(row), '  * counts as a reconnect']
}

function totals(one: PlatformCounts): string[] {
  const { lateMs } = one
  const rise = one.othersDuring - one.othersQuiet
  return [
    `  ${one.platform}: ${one.messageCount} messages, answered ${one.answered}`,
    `    unanswered: ${counted(one.unanswered)}`,
    `    duplicates without a label: ${counted(one.unlabelled)}; with a label: ${one.labelled}`,
    `    out of order: ${counted(one.inversions)}; rows of long answers: ${counted(one.wrongRows)}`,
    `    dead letters after three crashes, with a notice: ${one.deadLetters}; unfinished drafts: ${one.unfinishedDrafts}${one.findsDrafts ? '' : ' (lost ones cannot be found here)'}`,
    `    reconnect p95: ${inMs(one.reconnectP95)} of ${one.reconnects} (bar ${bars.reconnectMs} ms)`,
    `    p95 of the others: ${inMs(one.othersQuiet)} without faults, ${inMs(one.othersDuring)} during its faults: ${rise >= 0 ? '+' : ''}${inMs(rise)} (bar ${bars.othersMs} ms)`,
    `    rate limits: ${one.earlyCalls} calls too early (${one.earlyAfterKills} more with kills); ${lateMs.length} ended, the next call after ${inMs(quantile(lateMs, 0.5))} (median), ${inMs(Math.max(0, ...lateMs))} at most (bar ${bars.lateMs} ms)`,
  ]
}

function inMs(ms: number | undefined): string {
  if (Number.isNaN(ms)) return '–'
  return ms === undefined || ms === Number.POSITIVE_INFINITY ? 'never' : `${ms.toFixed(0)} ms`
}

function counted(items: readonly string[]): string {
  return items.length === 0 ? '0' : `${items.length} (${items.slice(0, 20).join('; ')})`
}
