/**
 * `npm test [-- options] [globs]`: runs the tests in several processes, with one counter for all and the failures at the
 * end.
 *
 *     --quick        only unit tests and stories that do not take long (`npm run test:quick`)
 *     --processes N  processes that run at once; default: one more than the machine has cores, at least three
 *     --record       runs each file alone and writes how long it took to durations.json, from which the plan is made
 *
 * Each process runs its files as `node --test --test-isolation=none` does (`shard-process.mjs`): starting a process for each of the 350 files
 * would take longer than the tests. The files are divided into more parts than processes run at once. A process that is
 * done early takes the next part, and no process grows large: the kernel copies the memory map at every start of a child,
 * which takes 1 ms in a process of 50 MB and 10 ms in one of 350 MB. One process more than cores uses the time in which
 * tests wait. One file alone: `node --test test/outbox/split.test.ts`.
 */
import { existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { createReport } from './console-report.ts'
import { defaultSeconds, durationsFile, planShards, readDurations, root, selectTestFiles } from './plan.ts'
import { createPythonEnvironment } from './python.ts'
import { runShard } from './shard.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    processes: { type: 'string', default: `${Math.max(2, availableParallelism()) + 1}` },
  },
})
const durations = readDurations()
const files = selectTestFiles({ quick: values.quick, patterns: positionals, durations })
if (files.length === 0) {
  process.stderr.write(`No test file matches ${positionals.join(' ')}.\n`)
  process.exit(2)
}

/** Each part loads most of the modules again, which takes 0.6 s of CPU time. */
const secondsPerPart = 40
const temporary = temporaryDirectory()
const pythonFolder = mkdtempSync(join(temporary, 'hermes-python-'))
const pythonPrograms = createPythonEnvironment(pythonFolder)
const environment = {
  ...process.env,
  TMPDIR: temporary,
  PATH: [pythonPrograms, process.env['PATH']].filter((part) => part !== undefined).join(delimiter),
  // Otherwise each process would compile and strip the types of all sources again.
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(root, 'node_modules/.cache/hermes-test'),
}
const report = createReport(process.stdout, files.length)
const processCount = Number(values.processes)
const problems = values.record ? await recordDurations() : await runAll()
rmSync(pythonFolder, { recursive: true, force: true })
process.exitCode = report.finish(problems) ? 1 : 0

async function runAll(): Promise<string[]> {
  const problems: string[] = []
  const total = files.reduce((sum, file) => sum + (durations.get(file) ?? defaultSeconds), 0)
  // The parts are about equal. A last round that is not full would leave processes idle.
  const rounds = Math.max(1, Math.ceil(total / secondsPerPart / processCount))
  const count = rounds * processCount
  await forEachAtOnce(planShards(files, durations, count), async (shard) => {
    problems.push(...(await runFiles(shard)))
  })
  return problems
}

/** Handles the items in order, as many at once as processes may run. */
async function forEachAtOnce<T>(items: readonly T[], handle: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  const work = async () => {
    for (const item of queue) await handle(item)
  }
  await Promise.all(Array.from({ length: processCount }, work))
}

/** Resolves with what went wrong outside of the tests. */
async function runFiles(shard: readonly string[]): Promise<string[]> {
  const { problem } = await runShard({ files: shard, environment, onResult: report.add, onOutput: report.print })
  return problem === undefined ? [] : [problem]
}

async function recordDurations(): Promise<string[]> {
  const problems: string[] = []
  const seconds: [file: string, seconds: number][] = []
  await forEachAtOnce(files, async (file) => {
    const startedAt = performance.now()
    problems.push(...(await runFiles([file])))
    seconds.push([file, (performance.now() - startedAt) / 1_000])
  })
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
