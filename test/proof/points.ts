/**
 * Every kill point of the crash tests, with many seeds.
 */
import { type KillPoint, runScenario } from '../crash/scenario.ts'

export interface PointsOptions {
  readonly points: readonly KillPoint[]
  readonly seeds: readonly number[]
  /** Concurrent runs. */
  readonly atOnce: number
  progress(line: string): void
}

export interface Broken {
  readonly point: string
  readonly seed: number
  readonly reason: string
}

export interface PointsResult {
  readonly lives: number
  readonly kills: number
  readonly broken: readonly Broken[]
  readonly seconds: number
}

/** Never rejects: failures are in the result. */
export async function runPoints({ points, seeds, atOnce, progress }: PointsOptions): Promise<PointsResult> {
  const begun = performance.now()
  const lives = seeds.flatMap((seed) => points.map((point) => ({ point, seed })))
  const broken: Broken[] = []
  let next = 0
  let kills = 0
  let shownAt = performance.now()

  async function lane(): Promise<void> {
    for (let life = lives[next]; life !== undefined; life = lives[next]) {
      next += 1
      try {
        await runScenario(life.point, life.seed)
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        broken.push({ point: life.point.name, seed: life.seed, reason })
        progress(`BROKEN ${life.point.name}, seed ${life.seed}: ${reason.slice(0, 2_000)}`)
      }
      kills += life.point.after === undefined ? 1 : 2
      if (performance.now() - shownAt < 10_000) continue
      shownAt = performance.now()
      progress(`${next} of ${lives.length} lives, ${broken.length} broken`)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  return { lives: lives.length, kills, broken, seconds: (performance.now() - begun) / 1_000 }
}
