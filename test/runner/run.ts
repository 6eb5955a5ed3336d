/**
 * `npm test [-- options] [globs]`: runs the tests in several processes, with one counter for all and the failures at the
 * end. It always ends with an exit code (`shard.ts`).
 *
 *     --all          everything (`npm run test:all`): also the files `*.full.test.ts` and the tests of `left-out.json`
 *     --quick        only unit tests and stories that do not take long (`npm run test:quick`)
 *     --processes N  processes that run at once; default: one more than the machine has cores, at least three
 *     --costs        prints the processor time of each file at the end
 *     --record       runs everything, and writes what was measured to durations.json, from which a new clone plans its parts, and to
 *                    left-out.json
 *
 * Each process runs its files as `node --test --test-isolation=none` does (`shard-process.mjs`): starting a process for each
 * of the files would take longer than the tests. The files are divided into more parts than processes run at once. A process
 * that is done early takes the next part, and no process grows large: the kernel copies the memory map at every start of a
 * child, which takes 1 ms in a process of 50 MB and 10 ms in one of 350 MB. One process more than cores uses the time in
 * which tests wait. One file alone: `node --test test/outbox/split.test.ts`.
 */
import { availableParallelism } from 'node:os'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { createReport } from './console-report.ts'
import { createCosts } from './costs.ts'
import { createEnvironment } from './environment.ts'
import { type LeftOut, readLeftOut } from './left-out.ts'
import { planShards, selectTestFiles, type Tier } from './plan.ts'
import { runShard } from './shard.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    costs: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    processes: { type: 'string', default: `${Math.max(2, availableParallelism()) + 1}` },
  },
})
const processCount = Number(values.processes)
if (!Number.isInteger(processCount) || processCount < 1) fail('--processes takes a number of at least 1.')
const tier: Tier = values.all || values.record ? 'all' : values.quick ? 'quick' : 'default'
const costs = createCosts()
const files = selectTestFiles({ tier, patterns: positionals, secondsOf: costs.secondsOf })
if (files.length === 0) fail(`No test file matches ${positionals.join(' ')}.`)

/** Each part loads most of the modules again, which takes 0.6 s of processor time. */
const secondsPerPart = 40
const { environment, remove } = createEnvironment()
const runsAll = tier === 'all' || positionals.length > 0
const leftOut: LeftOut = runsAll ? {} : readLeftOut()
const leftOutOf = (chosen: readonly string[]) => chosen.flatMap((file) => leftOut[file] ?? [])
const report = createReport(process.stdout, files.length, leftOutOf(files).length)
const interrupted = new AbortController()
const interrupt = (signal: NodeJS.Signals) => {
  interrupted.abort()
  report.print(`Ended by ${signal}.\n`)
}
process.once('SIGINT', interrupt).once('SIGTERM', interrupt)

const problems = await runAll()
try {
  remove()
} catch (error) {
  problems.push(`The folder of the tests cannot be removed: ${error instanceof Error ? error.message : error}`)
}
try {
  costs.save({ record: values.record })
} catch (error) {
  report.print(`The durations are not kept: ${error instanceof Error ? error.message : error}\n`)
}
if (values.costs) costs.print(process.stdout)
process.exitCode = report.finish(problems) ? 1 : 0

async function runAll(): Promise<string[]> {
  const problems: string[] = []
  const total = files.reduce((sum, file) => sum + costs.secondsOf(file), 0)
  // The parts are about equal. A last round that is not full would leave processes idle.
  const rounds = Math.max(1, Math.ceil(total / secondsPerPart / processCount))
  const queue = planShards(files, costs.secondsOf, rounds * processCount).values()
  const work = async () => {
    for (const shard of queue) {
      if (interrupted.signal.aborted) return
      const { problem } = await runShard({
        files: shard,
        leftOut: leftOutOf(shard),
        environment,
        signal: interrupted.signal,
        onResult: report.add,
        onCost: costs.add,
        onOutput: report.print,
      })
      if (problem !== undefined) problems.push(problem)
    }
  }
  await Promise.all(Array.from({ length: processCount }, work))
  return problems
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}
