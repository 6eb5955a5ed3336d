/**
 * What each test file takes: measured by every run on this machine, and recorded for a new clone in `durations.json`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type MeasuredTest, writeLeftOut } from './left-out.ts'
import { root } from './plan.ts'
import type { TestCost } from './shard.ts'

const recordedFile = fileURLToPath(new URL('durations.json', import.meta.url))
const measuredFile = join(root, 'node_modules/.cache/hermes-test/durations.json')

/** What a file counts for that has not been measured, in seconds. */
const defaultSeconds = 0.15

/** A file that takes less is not worth a line of `durations.json`. */
const minRecordedSeconds = 0.3

export interface Costs {
  /** Seconds from the start to the end of the file. */
  secondsOf(file: string): number
  add(cost: TestCost): void
  /** Keeps what was measured for the next run, with `record` also for other clones. */
  save(options: { readonly record: boolean }): void
  print(out: NodeJS.WritableStream): void
}

interface FileCost {
  readonly file: string
  readonly cpuMs: number
  readonly ms: number
  readonly tests: readonly MeasuredTest[]
}

/** Throws when `durations.json` is not a map of paths to seconds. */
export function createCosts(): Costs {
  const recorded = readDurations(recordedFile)
  const known = { ...recorded, ...(existsSync(measuredFile) ? readDurations(measuredFile) : {}) }
  const measured = new Map<string, FileCost>()
  return {
    secondsOf: (file) => known[file] ?? defaultSeconds,
    add({ file, name, cpuMs, ms }) {
      const before = measured.get(file) ?? { file, cpuMs: 0, ms: 0, tests: [] }
      const tests = [...before.tests, { name, cpuMs }]
      measured.set(file, { file, cpuMs: before.cpuMs + cpuMs, ms: before.ms + ms, tests })
    },
    save({ record }) {
      const seconds = [...measured.values()].map(({ file, ms }) => [file, Math.round(ms / 100) / 10] as const)
      mkdirSync(dirname(measuredFile), { recursive: true })
      writeDurations(measuredFile, { ...known, ...Object.fromEntries(seconds) })
      if (!record) return
      writeLeftOut(new Map([...measured].map(([file, { tests }]) => [file, tests])))
      const long = seconds
        .filter(([, value]) => value >= minRecordedSeconds)
        .sort(([a], [b]) => a.localeCompare(b, 'en'))
      const untouched = Object.entries(recorded).filter(([file]) => !measured.has(file) && existsSync(join(root, file)))
      writeDurations(
        recordedFile,
        Object.fromEntries([...untouched, ...long].sort(([a], [b]) => a.localeCompare(b, 'en'))),
      )
    },
    print(out) {
      const sorted = [...measured.values()].sort((a, b) => b.cpuMs - a.cpuMs)
      const total = sorted.reduce((sum, { cpuMs }) => sum + cpuMs, 0)
      for (const { file, cpuMs, ms } of sorted) out.write(`${seconds(cpuMs)} s CPU ${seconds(ms)} s  ${file}\n`)
      out.write(`${seconds(total)} s CPU in the tests of ${sorted.length} files\n`)
    },
  }
}

const seconds = (ms: number) => (ms / 1_000).toFixed(2).padStart(8)

function readDurations(file: string): Record<string, number> {
  return z.record(z.string(), z.number().nonnegative()).parse(JSON.parse(readFileSync(file, 'utf8')))
}

function writeDurations(file: string, durations: Readonly<Record<string, number>>): void {
  writeFileSync(file, `${JSON.stringify(durations, null, 2)}\n`)
}
