/**
 * Which test files run, and which of them share a process: the longest files first, each to the process with the least to
 * do.
 */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Seconds of each test file that takes longer than most; `npm test -- --record` measures them again. */
export const durationsFile = fileURLToPath(new URL('durations.json', import.meta.url))

/** What a file counts for that `durations.json` does not name, in seconds. */
export const defaultSeconds = 0.15

/** Folders whose tests start daemons, run interpreters or replay thousands of payloads. */
const slowFolders = ['crash', 'conformance', 'docs', 'platforms', 'proof', 'replay', 'hosts', 'plugins']

/** A file that takes longer is left out of the quick tests. */
const maxQuickSeconds = 2

export interface SelectionOptions {
  /** Only unit tests and stories, without the files that take long. */
  readonly quick: boolean
  /** Globs relative to the root of the project; all tests if empty. */
  readonly patterns: readonly string[]
  readonly durations: ReadonlyMap<string, number>
}

/** Paths relative to the root, sorted. */
export function selectTestFiles({ quick, patterns, durations }: SelectionOptions): string[] {
  const globs = patterns.length === 0 ? ['test/**/*.test.ts'] : [...patterns]
  const files = [...new Set(globSync(globs, { cwd: root }))].filter((file) => file.endsWith('.test.ts')).sort()
  return quick ? files.filter((file) => isQuick(file, durations)) : files
}

function isQuick(file: string, durations: ReadonlyMap<string, number>): boolean {
  const seconds = durations.get(file) ?? defaultSeconds
  return seconds <= maxQuickSeconds && !slowFolders.some((folder) => file.startsWith(`test/${folder}/`))
}

/** Throws when the file is not a map of paths to seconds. */
export function readDurations(): ReadonlyMap<string, number> {
  const parsed = z.record(z.string(), z.number().positive()).parse(JSON.parse(readFileSync(durationsFile, 'utf8')))
  return new Map(Object.entries(parsed))
}

/** Distributes the files over `count` shards of about equal duration, the longest one first. Empty shards are left out. */
export function planShards(
  files: readonly string[],
  durations: ReadonlyMap<string, number>,
  count: number,
): readonly (readonly string[])[] {
  const secondsOf = (file: string) => durations.get(file) ?? defaultSeconds
  const shards = Array.from({ length: count }, () => ({ seconds: 0, files: [] as string[] }))
  for (const file of [...files].sort((a, b) => secondsOf(b) - secondsOf(a) || a.localeCompare(b))) {
    const shard = shards.reduce((least, other) => (other.seconds < least.seconds ? other : least))
    shard.seconds += secondsOf(file)
    shard.files.push(file)
  }
  // Within a shard the order of the names: a failure that depends on the order stays reproducible.
  return shards
    .filter((shard) => shard.files.length > 0)
    .sort((a, b) => b.seconds - a.seconds)
    .map((shard) => shard.files.sort())
}
