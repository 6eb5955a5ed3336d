/**
 * The soak part of the proof: a daemon as `npm start` runs it answers 10,000 turns at full speed and then a constant
 * number of turns per second for hours. Its memory must stay below a limit and must not grow.
 *
 * `people.ts` describes the users. They model a gateway of a small company: many conversations of usual length at the
 * same time, none of which is endless, and new chats at a low rate.
 */
import { setTimeout } from 'node:timers/promises'
import type { SoakDaemon } from './daemon.ts'
import type { People } from './people.ts'
import { growthPerHour, type Sample, tableHead, tableLine } from './samples.ts'
import { withSoakDaemon } from './with-daemon.ts'

export interface SoakOptions {
  readonly turnsPerSecond: number
  readonly hours: number
  /** Minutes at this rate before growth is measured. */
  readonly warmUpMinutes: number
  /** Turns at full speed before. */
  readonly fastTurns: number
  readonly seed: number
  print(line: string): void
}

export interface SoakReport {
  readonly lines: readonly string[]
  readonly kept: boolean
}

/** MB of 2^20 bytes. */
export const maxRssMb = 150
const maxGrowthPerHourMb = 1
export const fastUsers = 16
const sampleMs = 60_000
/** The daemon gives memory back when few messages arrive. */
export const quietMs = 15_000
/** A model sends about this many milliseconds between two chunks. */
const chunkDelayMs = 15

export function proveSoak(options: SoakOptions): Promise<SoakReport> {
  return withSoakDaemon(options.seed, async ({ daemon, model, people, take }) => {
    options.print(tableHead)
    const idle = take()
    options.print(tableLine(idle))
    await people.writeFast(options.fastTurns, fastUsers)
    await setTimeout(quietMs)
    const fast = take()
    options.print(tableLine(fast))
    model.chunkDelayMs = chunkDelayMs
    const samples = await sampleUntilEnd(options, people, daemon, take)
    return judge(options, { idle, fast, samples, people, daemon })
  })
}

async function sampleUntilEnd(
  { turnsPerSecond, hours, print }: SoakOptions,
  people: People,
  daemon: SoakDaemon,
  take: () => Sample,
): Promise<Sample[]> {
  const samples: Sample[] = []
  const timer = setInterval(() => {
    if (daemon.ended() !== undefined) return
    const sample = take()
    samples.push(sample)
    print(tableLine(sample))
  }, sampleMs)
  await people.writeAtRate(turnsPerSecond, performance.now() + hours * 3_600_000)
  clearInterval(timer)
  return samples
}

interface Measured {
  readonly idle: Sample
  readonly fast: Sample
  readonly samples: readonly Sample[]
  readonly people: People
  readonly daemon: SoakDaemon
}

function judge(options: SoakOptions, { idle, fast, samples, people, daemon }: Measured): SoakReport {
  const { warmUpMinutes, turnsPerSecond, hours } = options
  const settled = samples.filter(({ minute }) => minute - fast.minute > warmUpMinutes)
  const growth = growthPerHour(settled)
  const peak = Math.max(...samples.map(({ rss }) => rss))
  const problems = [...new Set(daemon.problems.map((line) => line.replaceAll(/\d+/g, 'N').slice(0, 200)))]
  const isMeasured = settled.length > 1
  const kept =
    fast.rss <= maxRssMb &&
    isMeasured &&
    growth <= maxGrowthPerHourMb &&
    people.failures.length === 0 &&
    daemon.ended() === undefined
  const growthText = isMeasured
    ? `${growth.toFixed(2)} MB/h, limit ${maxGrowthPerHourMb}`
    : 'NOT MEASURED, the run was too short'
  return {
    kept,
    lines: [
      `Soak: ${people.turns} turns in ${people.conversations} conversations, ${hours} h at ${turnsPerSecond} turns/s`,
      `  unanswered: ${people.failures.length}${people.failures.length === 0 ? '' : ` (${people.failures.slice(0, 5).join('; ')})`}`,
      `  resident memory: ${idle.rss.toFixed(1)} MB idle, ${fast.rss.toFixed(1)} MB after ${fast.turns} turns (limit ${maxRssMb}), at most ${peak.toFixed(1)} MB later`,
      `  growth after ${warmUpMinutes} min of warm-up, ${settled.length} samples: ${growthText}`,
      `  open files: ${idle.openFiles} idle, ${samples.at(-1)?.openFiles ?? fast.openFiles} at the end`,
      `  warnings and errors of the log: ${daemon.problems.length}`,
      ...problems.slice(0, 10).map((line) => `    ${line}`),
      ...(daemon.ended() === undefined ? [] : [`  ${daemon.ended()}`]),
    ],
  }
}
