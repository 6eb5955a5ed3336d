/**
 * Which tests `npm test` leaves to `npm run test:all`: in each file those that take long and come after the first ones. So each file
 * shows its main promise between two edits. The list is measured (`npm test -- --record`), and a test that is not on it runs.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { root } from './plan.ts'

const listFile = fileURLToPath(new URL('left-out.json', import.meta.url))

/** Names of tests and suites that stand in no other one, by file. */
export type LeftOut = Readonly<Record<string, readonly string[]>>

/** Throws when `left-out.json` is not such a list. */
export function readLeftOut(): LeftOut {
  return z.record(z.string(), z.array(z.string())).parse(JSON.parse(readFileSync(listFile, 'utf8')))
}

export interface MeasuredTest {
  readonly name: string
  readonly cpuMs: number
}

/** What the first tests of a file may take, in ms of processor time. A story is worth more: it shows the whole. */
const shareMs = (file: string) => (file.startsWith('test/stories/') ? 500 : 150)

/** A test that takes less always runs. */
const minMs = 60

/**
 * A test and a suite stay whole: what they contain may build on each other.
 *
 * @param tests of one file, in the order in which they ran
 */
export function chooseLeftOut(file: string, tests: readonly MeasuredTest[]): string[] {
  const costs = new Map<string, number>()
  for (const { name, cpuMs } of tests) {
    const [outermost = name] = name.split(' > ')
    costs.set(outermost, (costs.get(outermost) ?? 0) + cpuMs)
  }
  let used = 0
  return [...costs].flatMap(([name, cpuMs], index) => {
    const fits = index === 0 || cpuMs < minMs || used + cpuMs <= shareMs(file)
    if (fits) used += cpuMs
    return fits ? [] : [name]
  })
}

/** Replaces what is known of the measured files, and forgets files that are gone. */
export function writeLeftOut(measured: ReadonlyMap<string, readonly MeasuredTest[]>): void {
  const chosen = [...measured].map(([file, tests]) => [file, chooseLeftOut(file, tests)] as const)
  const all = { ...readLeftOut(), ...Object.fromEntries(chosen) }
  const kept = Object.entries(all).filter(([file, names]) => names.length > 0 && existsSync(join(root, file)))
  const sorted = kept.sort(([a], [b]) => a.localeCompare(b, 'en'))
  writeFileSync(listFile, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
}
