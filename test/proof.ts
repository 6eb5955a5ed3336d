/**
 * `npm run proof [-- options]` checks the delivery promises with the full counts: every kill point of a message with
 * twenty seeds, random kills while users write, unusual payloads for every platform, and defective adapters against the
 * platform contract. Prints the counts and exits with 1 when a promise was broken.
 *
 * The part `hostile` sends about a thousand inputs that are expensive to parse, judge or render to one gateway, while another
 * process asks it for `/healthz`. None may hold the event loop longer than 50 ms of processor time (100 ms on a busy machine).
 *
 * The part `soak` takes hours, so it runs only with --only soak or --full. A daemon as `npm start` runs it answers 10,000
 * turns at full speed and must then need at most 150 MB. It answers turns at a constant rate for hours and may grow by at
 * most 1 MB per hour. 200 users are in conversations of 6 to 30 turns; some turns use tools, and some users the HTTP API.
 *
 *     --only points|monkey|restarts|payloads|platforms|contract|hooks|calls|managed|outages|hostile|soak   one part
 *     --point NAME           only this kill point
 *     --seed N               only this seed (points), or the seed of the other parts
 *     --seeds N              seeds per kill point; 20. With `--only platforms`: runs with seeds that follow each other; 1
 *     --messages N           messages of the users during random kills; 300, or 5,000 with --full
 *     --restarts N           restarts of each kind while messages are in progress; 100
 *     --payloads N           unusual payloads per platform; 10,000
 *     --events N             events sent to hooks; 50,000
 *     --rounds N             rounds of 10,000 concurrent managed calls in 1,000 scopes; 10
 *     --cases N              random managed calls; 100,000
 *     --platform NAME        faults of this platform only
 *     --fault TEXT           faults whose name contains this text
 *     --input TEXT           hostile inputs whose name contains this text
 *     --random N             seconds of random faults with kills; 30
 *     --turns-per-second N   rate of the soak; 5
 *     --hours N              duration of the soak at this rate; 2
 *     --load-minutes N       duration of the load of 50 messages per second; 10
 *     --warm-up N            minutes of it before growth is measured; 20
 *     --keep                 keep the home of the daemon that ran with the faults
 */
import process from 'node:process'
import { parseArgs } from 'node:util'
import { killPoints } from './crash/scenario.ts'
import { isLossless, type SoakResult, soakHooks } from './hooks/soak.ts'
import { usageOf } from './kit/usage.ts'
import { passesSoak, soakCalls } from './middleware/soak.ts'
import { proveContract } from './proof/contract.ts'
import { keepsPromises } from './proof/delivery-counts.ts'
import { keepsAnswering, maxHoldMs, runHostileInputs } from './proof/hostile/run.ts'
import { keepsLoad, proveLoad } from './proof/load.ts'
import { proveManaged } from './proof/managed/run.ts'
import { type MonkeyResult, runMonkey } from './proof/monkey.ts'
import { proveOutages } from './proof/outages/report.ts'
import { provePayloads } from './proof/payloads.ts'
import { platformsReport } from './proof/platforms/report.ts'
import { runPlatforms } from './proof/platforms/run.ts'
import { testPlatforms } from './proof/platforms/test-platforms.ts'
import { type PointsResult, runPoints } from './proof/points.ts'
import { keepsInnocents, restartKinds, runRestarts } from './proof/restarts.ts'
import { proveSoak } from './proof/soak/run.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    point: { type: 'string' },
    seed: { type: 'string' },
    seeds: { type: 'string' },
    messages: { type: 'string' },
    restarts: { type: 'string', default: '100' },
    payloads: { type: 'string', default: '10000' },
    events: { type: 'string', default: '50000' },
    rounds: { type: 'string', default: '10' },
    cases: { type: 'string', default: '100000' },
    platform: { type: 'string' },
    fault: { type: 'string' },
    // Deprecated alias of --fault.
    trouble: { type: 'string' },
    input: { type: 'string', default: '' },
    random: { type: 'string', default: '30' },
    'turns-per-second': { type: 'string', default: '5' },
    hours: { type: 'string', default: '2' },
    'load-minutes': { type: 'string', default: '10' },
    'warm-up': { type: 'string', default: '20' },
    keep: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
})
if (values.help) {
  process.stdout.write(usageOf(import.meta.url))
  process.exit(0)
}
/** Limit for the heap growth during the hook events and the managed calls. */
const maxHeapGrowthMb = 5
const fault = values.fault ?? values.trouble

const progress = (line: string) => process.stderr.write(`${line}\n`)
const print = (line: string) => process.stdout.write(`${line}\n`)

const selected = killPoints.filter(({ name }) => values.point === undefined || name === values.point)
if (selected.length === 0) {
  progress(`Unknown kill point ${values.point}. Known: ${killPoints.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

let kept = true
const isSelected = (part: string) => values.only === part || (values.only === undefined && values.point === undefined)
if (isSelected('points') || values.point !== undefined) kept = (await provePoints()) && kept
if (isSelected('monkey')) kept = (await proveMonkey()) && kept
if (isSelected('restarts')) kept = (await proveRestarts()) && kept
if (isSelected('payloads')) kept = (await proveAllPayloads()) && kept
if (isSelected('platforms')) kept = (await provePlatforms()) && kept
if (isSelected('contract')) kept = (await proveDefects()) && kept
if (isSelected('hooks')) kept = (await proveHooks()) && kept
if (isSelected('managed')) kept = (await proveManagedCalls()) && kept
if (isSelected('calls')) kept = (await proveCalls()) && kept
if (isSelected('outages')) kept = (await proveModelOutages()) && kept
if (isSelected('load')) kept = (await proveSteadyLoad()) && kept
if (isSelected('hostile')) kept = (await proveHostileInputs()) && kept
if (values.only === 'soak' || (values.full && isSelected('soak'))) kept = (await proveMemory()) && kept
print(kept ? 'Every promise was kept.' : 'A PROMISE WAS BROKEN.')
process.exitCode = kept ? 0 : 1

async function provePoints(): Promise<boolean> {
  const seeds =
    values.seed === undefined
      ? Array.from({ length: Number(values.seeds ?? 20) }, (_, index) => index + 1)
      : [Number(values.seed)]
  const result = await runPoints({ points: selected, seeds, concurrency: 2, progress })
  printPoints(result, seeds.length)
  return result.broken.length === 0
}

function printPoints({ runs, kills, broken, seconds }: PointsResult, seeds: number): void {
  print(
    `Kill points: ${selected.length} points × ${seeds} seeds = ${runs} runs, ${kills} kills, ${seconds.toFixed(0)} s`,
  )
  print(`  broken: ${broken.length}`)
  for (const { point, seed, reason } of broken) {
    print(`  ${point}, seed ${seed}: ${reason.split('\n')[0]?.slice(0, 500)}`)
    print(`    reproduce: npm run proof -- --point ${point} --seed ${seed}`)
  }
}

async function proveMonkey(): Promise<boolean> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const messages = Number(values.messages ?? (values.full ? 5_000 : 300))
  progress(`monkey: ${messages} messages, seed ${seed}`)
  const result = await runMonkey({ seed, messages, chats: 6, progress: (line) => progress(`monkey: ${line}`) })
  printMonkey(result)
  if (!keepsPromises(result)) print(`  reproduce: npm run proof -- --only monkey --messages ${messages} --seed ${seed}`)
  return keepsPromises(result)
}

function printMonkey(result: MonkeyResult): void {
  print(
    `Random kills: ${result.kills} kills (${result.killsWhileStarting} while starting), ${result.messageCount} messages, ${result.seconds.toFixed(0)} s`,
  )
  print(`  answered: ${result.answered}`)
  print(`  dead letters after three crashes, with a notice: ${result.deadLetters}`)
  print(`  unanswered: ${counted(result.unanswered)}`)
  print(`  duplicates without a label: ${counted(result.unlabelled)}`)
  print(`  duplicates with a label: ${result.labelled}`)
  print(`  effects executed twice: ${counted(result.effectsTwice)}`)
  print(`  out of order: ${counted(result.inversions)}`)
  print(`  unfinished drafts: ${result.unfinishedDrafts}`)
}

async function proveRestarts(): Promise<boolean> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  let kept = true
  print(`Restarts while 24 messages are in progress, seed ${seed}`)
  for (const kind of restartKinds) {
    progress(`restarts: ${kind}`)
    const result = await runRestarts({ kind, count: Number(values.restarts), messages: 24, seed })
    const { restarts, innocent, answered, deadLetters, seconds } = result
    print(
      `  ${kind}: ${restarts} restarts, ${answered} of ${innocent} answered, dead letters: ${counted(deadLetters)}, ${seconds.toFixed(0)} s`,
    )
    kept = keepsInnocents(result) && kept
  }
  return kept
}

async function proveAllPayloads(): Promise<boolean> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  progress(`payloads: ${values.payloads} for each platform, seed ${seed}`)
  const results = await provePayloads(seed, Number(values.payloads))
  print(`Unusual payloads, seed ${seed}: ${results.length} platforms`)
  for (const { platform, replays, count, admitted, refused, failures, slowest, kept } of results) {
    print(
      `  ${platform}: ${count} from ${replays} recordings; accepted ${admitted}, refused ${refused}; broken: ${counted(failures)}`,
    )
    print(`    slowest: ${slowest.cpuMs.toFixed(1)} ms CPU (${slowest.what})`)
    if (!kept) print(`    reproduce: npm run proof -- --only payloads --payloads ${values.payloads} --seed ${seed}`)
  }
  return results.every(({ kept }) => kept)
}

async function proveDefects(): Promise<boolean> {
  progress('contract: defective adapters')
  const { defects, promises, mismatches } = await proveContract()
  print(`Platform contract: ${defects} defective adapters against ${promises} promises`)
  print(`  mismatches: ${counted(mismatches)}`)
  return mismatches.length === 0
}

async function provePlatforms(): Promise<boolean> {
  const first = Number(values.seed ?? Date.now() % 1_000_000)
  const runs = values.only === 'platforms' ? Number(values.seeds ?? 1) : 1
  let kept = true
  for (let run = 0; run < runs; run++) kept = (await provePlatformsWith(first + run)) && kept
  return kept
}

async function provePlatformsWith(seed: number): Promise<boolean> {
  progress(`platforms: seed ${seed}`)
  const result = await runPlatforms({
    seed,
    platforms: testPlatforms,
    platform: values.platform,
    fault,
    randomSeconds: Number(values.random),
    keepHome: values.keep,
    progress: (line) => progress(`platforms: ${line}`),
  })
  print(`Faults of platforms with seed ${seed}`)
  for (const line of platformsReport(result)) print(line)
  if (!result.kept) print(`  reproduce: npm run proof -- --only platforms --seed ${seed}`)
  return result.kept
}

async function proveCalls(): Promise<boolean> {
  const result = await soakCalls({ scopes: 1_000, callsPerScope: 10, rounds: Number(values.rounds) })
  print(`Managed calls: ${result.calls} tool calls, 10,000 concurrent in 1,000 scopes, ${result.seconds.toFixed(0)} s`)
  print(
    `  failed: ${result.failedCalls}, mismatched events: ${result.mismatchedEvents} of ${result.starts}, dropped: ${result.dropped}`,
  )
  print(`  leaked scopes: ${result.leakedScopes}, heap after collection: ${result.heapGrowthMb.toFixed(1)} MB growth`)
  return passesSoak(result) && result.heapGrowthMb < maxHeapGrowthMb
}

async function proveHooks(): Promise<boolean> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const events = Number(values.events)
  const report = (line: string) => progress(`hooks: ${line}`)
  progress(`hooks: ${events} events, seed ${seed}`)
  const edited = await soakHooks({ events, edits: 200, kills: 0, seed, progress: report })
  const killed = await soakHooks({ events: Math.ceil(events / 5), edits: 20, kills: 100, seed, progress: report })
  print(`Hooks, seed ${seed}: ${events} events, ${edited.edits} edits, ${edited.seconds.toFixed(0)} s`)
  printHooks(edited)
  print(`  heap after collection: ${edited.heapGrowthMb.toFixed(1)} MB growth since the first fifth`)
  print(`Hooks with killed processes: ${killed.kills} kills, ${killed.edits} edits, ${killed.seconds.toFixed(0)} s`)
  printHooks(killed)
  const kept = isLossless(edited) && isLossless(killed) && edited.hooks.every(({ failed }) => failed === 0)
  return kept && edited.heapGrowthMb < maxHeapGrowthMb
}

async function proveManagedCalls(): Promise<boolean> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  const count = Number(values.cases)
  progress(`managed: ${count} calls, seed ${seed}`)
  const { seconds, broken } = await proveManaged({ seed, count, progress: (line) => progress(`managed: ${line}`) })
  print(`Random managed calls, seed ${seed}: ${count}, ${seconds.toFixed(0)} s`)
  print(`  broken: ${counted(broken)}`)
  if (broken.length > 0) print(`  reproduce: npm run proof -- --only managed --cases ${count} --seed ${seed}`)
  return broken.length === 0
}

async function proveModelOutages(): Promise<boolean> {
  const report = await proveOutages((line) => progress(`outages: ${line}`))
  for (const line of report.lines) print(line)
  return report.kept
}

async function proveSteadyLoad(): Promise<boolean> {
  progress(`load: ${values['load-minutes']} minutes`)
  const result = await proveLoad(Number(values['load-minutes']) * 60, (line) => progress(`load: ${line}`))
  const { sent, accepted, lost, outOfOrder, seconds, p50, p99 } = result
  print(`Load: ${sent} messages over 200 conversations in ${seconds.toFixed(0)} s, accepted ${accepted}`)
  print(
    `  lost: ${lost}, out of order: ${outOfOrder}, reply after ${p50.toFixed(1)} ms (p50), ${p99.toFixed(1)} ms (p99)`,
  )
  return keepsLoad(result)
}

async function proveHostileInputs(): Promise<boolean> {
  const report = await runHostileInputs({ only: values.input, progress: (line) => progress(`hostile: ${line}`) })
  const { idle, results, ended } = report
  const slowest = results.toSorted((one, other) => other.cpuMs - one.cpuMs).slice(0, 5)
  print(`Hostile inputs: ${results.length}; an idle gateway answers within ${idle.wallMs.toFixed(0)} ms`)
  print(
    `  held the event loop for more than ${maxHoldMs} ms: ${results.filter(({ cpuMs }) => cpuMs > maxHoldMs).length}`,
  )
  for (const { name, cpuMs, wallMs } of slowest)
    print(`  ${name}: ${cpuMs.toFixed(0)} ms of processor time, answer after ${wallMs.toFixed(0)} ms`)
  if (ended !== undefined) print(`  ${ended}`)
  return keepsAnswering(report)
}

async function proveMemory(): Promise<boolean> {
  const seed = Number(values.seed ?? Date.now() % 1_000_000)
  progress(`soak: seed ${seed}`)
  const report = await proveSoak({
    seed,
    fastTurns: 10_000,
    turnsPerSecond: Number(values['turns-per-second']),
    hours: Number(values.hours),
    warmUpMinutes: Number(values['warm-up']),
    print,
  })
  for (const line of report.lines) print(line)
  return report.kept
}

function printHooks({ hooks }: SoakResult): void {
  for (const { name, handled, failed, dropped, doubled, outOfOrder, lost } of hooks) {
    print(
      `  ${name}: handled ${handled}, failed ${failed}, duplicated ${doubled}, out of order ${outOfOrder}, lost ${lost + dropped}`,
    )
  }
}

function counted(items: readonly string[]): string {
  return items.length === 0 ? '0' : `${items.length} (${items.slice(0, 20).join('; ')})`
}
