/**
 * Every kill point of the crash tests, with many seeds.
 */
import { type KillPoint, runScenario } from '../crash/scenario.ts'

export interface PointsOptions {
  readonly points: readonly KillPoint[]
  readonly seeds: readonly number[]
  /** Concurrent runs. */
  readonly concurrency: number
  progress(line: string): void
}

export interface BrokenRun {
  readonly point: string
  readonly seed: number
  readonly reason: string
}

export interface PointsResult {
  readonly runs: number
  readonly kills: number
  readonly broken: readonly BrokenRun[]
  readonly seconds: number
}

/** Never rejects: failures are in the result. */
export async function runPoints({ points, seeds, concurrency, progress }: PointsOptions): Promise<PointsResult> {
  const startedAt = performance.now()
  const runs = seeds.flatMap((seed) => points.map((point) => ({ point, seed })))
  const broken: BrokenRun[] = []
  let next = 0
  let kills = 0
  let shownAt = performance.now()

  async function worker(): Promise<void> {
    for (let run = runs[next]; run !== undefined; run = runs[next]) {
      next += 1
      try {
        await runScenario(run.point, run.seed)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        broken.push({ point: run.point.name, seed: run.seed, reason })
        progress(`BROKEN ${run.point.name}, seed ${run.seed}: ${reason.slice(0, 2_000)}`)
      }
      kills += run.point.after === undefined ? 1 : 2
      if (performance.now() - shownAt < 10_000) continue
      shownAt = performance.now()
      progress(`${next} of ${runs.length} runs, ${broken.length} broken`)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  return { runs: runs.length, kills, broken, seconds: (performance.now() - startedAt) / 1_000 }
}
