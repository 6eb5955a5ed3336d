/**
 * The result of the platform proof as a table of faults and their effects.
 */
import { availableParallelism, loadavg } from 'node:os'
import { quantile } from '../../bench/kit/stats.ts'
import { bars, type EpisodeCounts, type PlatformCounts, type PlatformsResult } from './reckoning.ts'

export function platformsReport({ episodes, platforms, deadLetters, seconds }: PlatformsResult): string[] {
  // Times are less meaningful on a loaded machine.
  const load = `${loadavg()[1]?.toFixed(1)} on ${availableParallelism()} processors`
  return [
    `Platforms in trouble: ${platforms.map(({ platform }) => platform).join(', ')}; ${seconds.toFixed(0)} s; load of the machine ${load}`,
    ...table(episodes.filter(({ trouble }) => trouble !== undefined)),
    ...platforms.flatMap(totals),
    `  given up by the outbox at the end: ${counted(deadLetters)}`,
  ]
}

const heads = ['platform', 'trouble', 'said', 'lost', 'doubled', 'labelled', 'answers again', 'caught up', 'others p95']

function table(episodes: readonly EpisodeCounts[]): string[] {
  const lines = episodes.map((one) => [
    one.platform,
    one.trouble ?? '',
    String(one.said),
    String(one.lost),
    String(one.unlabelled),
    String(one.labelled),
    `${inMs(one.backMs)}${one.measures === 'nothing' ? '' : one.measures === 'noticed' ? ' (noticed)' : ' *'}`,
    inMs(one.caughtUpMs),
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
    `  ${one.platform}: ${one.said} messages, answered ${one.answered}`,
    `    unanswered: ${counted(one.unanswered)}`,
    `    doubled without a label: ${counted(one.unlabelled)}; with a label: ${one.labelled}`,
    `    out of order: ${counted(one.inversions)}; rows of long answers: ${counted(one.wrongRows)}`,
    `    set aside after three crashes, and told so: ${one.setAside}; drafts left behind: ${one.leftDrafts}`,
    `    reconnect p95: ${inMs(one.reconnectP95)} of ${one.reconnects} (bar ${bars.reconnectMs} ms)`,
    `    p95 of the others: ${inMs(one.othersQuiet)} when quiet, ${inMs(one.othersDuring)} during its troubles: ${rise >= 0 ? '+' : ''}${inMs(rise)} (bar ${bars.othersMs} ms)`,
    `    limits of the rate: ${one.earlyCalls} calls too early (${one.earlyAfterKills} more with kills); ${lateMs.length} ended, the next call ${inMs(quantile(lateMs, 0.5))} after it in the middle, ${inMs(Math.max(0, ...lateMs))} at most (bar ${bars.lateMs} ms)`,
  ]
}

function inMs(ms: number | undefined): string {
  if (Number.isNaN(ms)) return '–'
  return ms === undefined || ms === Number.POSITIVE_INFINITY ? 'never' : `${ms.toFixed(0)} ms`
}

function counted(items: readonly string[]): string {
  return items.length === 0 ? '0' : `${items.length} (${items.slice(0, 20).join('; ')})`
}
