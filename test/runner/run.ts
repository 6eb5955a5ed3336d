/**
 * `npm test [-- options] [globs]`: runs the tests in as many processes as the machine has cores (at least two), with one
 * counter for all and the failures at the end.
 *
 *     --quick        unit tests and stories alone (`npm run test:quick`)
 *     --shards N     number of processes
 *     --record       runs each file alone and writes how long it took to durations.json, from which the plan is made
 *
 * Each process runs its files with `node --test --test-isolation=none`: starting a process for each of the 500 files
 * would take longer than the tests. One file alone: `node --test test/outbox/split.test.ts`.
 */
import { existsSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { createReport } from './console-report.ts'
import { defaultSeconds, durationsFile, planShards, readDurations, selectTestFiles } from './plan.ts'
import { runShard } from './shard.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    shards: { type: 'string', default: `${Math.max(2, availableParallelism())}` },
  },
})
const files = selectTestFiles({ quick: values.quick, patterns: positionals })
if (files.length === 0) {
  process.stderr.write(`No test file matches ${positionals.join(' ')}.\n`)
  process.exit(2)
}

const environment = { ...process.env, TMPDIR: temporaryDirectory() }
const report = createReport(process.stdout, files.length)
const shardCount = Number(values.shards)
const problems = values.record ? await recordDurations() : await runAll()
process.exitCode = report.finish(problems) ? 1 : 0

async function runAll(): Promise<string[]> {
  const shards = planShards(files, readDurations(), shardCount)
  return (await Promise.all(shards.map(runFiles))).flat()
}

/** Resolves with what went wrong outside of the tests. */
async function runFiles(shard: readonly string[]): Promise<string[]> {
  const { problem } = await runShard({ files: shard, environment, onResult: report.add, onOutput: report.print })
  return problem === undefined ? [] : [problem]
}

async function recordDurations(): Promise<string[]> {
  const queue = [...files]
  const problems: string[] = []
  const seconds: [file: string, seconds: number][] = []
  const work = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      const startedAt = performance.now()
      problems.push(...(await runFiles([file])))
      seconds.push([file, (performance.now() - startedAt) / 1_000])
    }
  }
  await Promise.all(Array.from({ length: shardCount }, work))
  // All files of a shard share what every process costs.
  const startUp = Math.min(...seconds.map(([, value]) => value))
  const long = seconds.map(([file, value]) => [file, Math.round((value - startUp) * 10) / 10] as const)
  const kept = long.filter(([, value]) => value > 2 * defaultSeconds).sort(([a], [b]) => a.localeCompare(b))
  writeFileSync(durationsFile, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`)
  return problems
}

/**
 * In memory where the machine offers it: most of the tests write databases, and each commit waits for the disk. Tests
 * kill processes but never the machine, so nothing that they prove depends on the disk.
 */
function temporaryDirectory(): string {
  const inMemory = '/dev/shm'
  if (!existsSync(inMemory)) return tmpdir()
  const { bavail, bsize } = statfsSync(inMemory)
  return bavail * bsize > 2 * 2 ** 30 ? inMemory : tmpdir()
}
