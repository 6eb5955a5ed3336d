/**
 * Which test files run, and which of them share a process: the longest files first, each to the process with the least to
 * do.
 */
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../', import.meta.url))

/** Folders whose tests start daemons, run interpreters or replay thousands of payloads. */
const slowFolders = ['crash', 'conformance', 'docs', 'platforms', 'proof', 'replay', 'hosts', 'plugins']

/** A file that takes longer is left out of the quick tests. */
const maxQuickSeconds = 2

/** `all`: everything. `default`: without `*.full.test.ts`. `quick`: of those, only unit tests and stories that do not take long. */
export type Tier = 'all' | 'default' | 'quick'

export interface SelectionOptions {
  readonly tier: Tier
  /** Globs relative to the root of the project; the tests of the tier if empty. */
  readonly patterns: readonly string[]
  secondsOf(file: string): number
}

/** Paths relative to the root, sorted. Files that a pattern names run whatever the tier. */
export function selectTestFiles({ tier, patterns, secondsOf }: SelectionOptions): string[] {
  const globs = patterns.length === 0 ? ['test/**/*.test.ts'] : [...patterns]
  const files = [...new Set(globSync(globs, { cwd: root }))].filter((file) => file.endsWith('.test.ts')).sort()
  if (tier === 'quick') return files.filter((file) => !isFull(file) && isQuick(file, secondsOf(file)))
  return tier === 'all' || patterns.length > 0 ? files : files.filter((file) => !isFull(file))
}

/** Tests of many cases, of which `npm test` runs at least one from another file. */
const isFull = (file: string) => file.endsWith('.full.test.ts')

function isQuick(file: string, seconds: number): boolean {
  return seconds <= maxQuickSeconds && !slowFolders.some((folder) => file.startsWith(`test/${folder}/`))
}

/** Distributes the files over `count` shards of about equal duration, the longest one first. Empty shards are left out. */
export function planShards(
  files: readonly string[],
  secondsOf: (file: string) => number,
  count: number,
): readonly (readonly string[])[] {
  const shards = Array.from({ length: count }, () => ({ seconds: 0, files: [] as string[] }))
  for (const file of [...files].sort((a, b) => secondsOf(b) - secondsOf(a) || a.localeCompare(b, 'en'))) {
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
