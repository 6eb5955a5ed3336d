/**
 * The cost of a managed call compared with a bare call, a handwritten onion, koa-compose and NeMo Relay; its memory
 * after many calls, and lost events.
 */
import { soakCalls } from '../../middleware/soak.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type Asked, bestOf, type Effort, steady } from '../kit/managed/measure.ts'
import { installRelay } from '../kit/managed/relay.ts'

interface Wanted extends Effort {
  readonly name: string
  readonly asked: Asked
  readonly bar?: number
  readonly note?: string
  /** The name of the row that is the baseline. */
  readonly beside?: string
}

const tiny: Effort = { calls: 500_000, rounds: 5 }
const usual: Effort = { calls: 20_000, rounds: 8 }
const slow: Effort = { calls: 200, rounds: 3 }
const four = { rewrites: 4, wrappers: 4 }
const sixteen = { rewrites: 16, wrappers: 16 }
const observed = { observed: true }
const large = { kib: 64 }

const byHand = 'onion by hand, same events'
const none = 'tool call, nobody listens'
const small = 'tool call, 4 rewrites + 4 wrappers + observer'
const asAgent = 'the same as the agent calls it'
const withMessages = 'tool call, 4 + 4 + observer, 64 KiB of messages'
const asAgentWithMessages = `${asAgent}, 64 KiB of messages`

const ours: readonly Wanted[] = [
  { name: 'bare function', asked: { way: 'bare' }, ...tiny },
  { name: none, asked: { way: 'managed' }, ...tiny, beside: 'bare function' },
  { name: `${byHand}, 0 + 0`, asked: { way: 'onion', ...observed }, ...usual },
  { name: 'tool call, observer alone', asked: { way: 'managed', ...observed }, ...usual, beside: `${byHand}, 0 + 0` },
  { name: 'koa-compose, 4 + 4, no events', asked: { way: 'koa', ...four }, ...usual },
  { name: `${byHand}, 4 + 4`, asked: { way: 'onion', ...four, ...observed }, ...usual },
  { name: small, asked: { way: 'managed', ...four, ...observed }, ...usual, bar: 8, beside: `${byHand}, 4 + 4` },
  {
    name: asAgent,
    asked: { way: 'as the agent calls', ...four, ...observed },
    ...usual,
    bar: 8,
    beside: `${byHand}, 4 + 4`,
    note: 'with a policy, and a signal whose making counts',
  },
  {
    name: 'the same as Hermes kinds, which fail open',
    asked: { way: 'hermes kinds', ...four, ...observed },
    ...usual,
    bar: 8,
    beside: `${byHand}, 4 + 4`,
  },
  { name: 'koa-compose, 16 + 16, no events', asked: { way: 'koa', ...sixteen }, ...usual },
  { name: `${byHand}, 16 + 16`, asked: { way: 'onion', ...sixteen, ...observed }, ...usual },
  {
    name: 'tool call, 16 + 16 + observer',
    asked: { way: 'managed', ...sixteen, ...observed },
    ...usual,
    bar: 25,
    beside: `${byHand}, 16 + 16`,
  },
  { name: `${byHand}, 4 + 4, 64 KiB`, asked: { way: 'onion', ...four, ...observed, ...large }, ...usual },
  {
    name: withMessages,
    asked: { way: 'managed', ...four, ...observed, ...large },
    ...usual,
    beside: `${byHand}, 4 + 4, 64 KiB`,
  },
  {
    name: asAgentWithMessages,
    asked: { way: 'as the agent calls', ...four, ...observed, ...large },
    ...usual,
    beside: `${byHand}, 4 + 4, 64 KiB`,
  },
  { name: 'stream of 10 chunks, bare', asked: { way: 'bare stream' }, ...usual },
  {
    name: 'model call of 10 chunks, nobody listens',
    asked: { way: 'model' },
    ...usual,
    beside: 'stream of 10 chunks, bare',
  },
  {
    name: 'model call of 10 chunks, 4 + 4 + observer',
    asked: { way: 'model', ...four, ...observed },
    ...usual,
    beside: 'stream of 10 chunks, bare',
  },
  {
    name: 'model call of 10 chunks, 4 + 4 around the chunks + observer',
    asked: { way: 'stream', ...four, ...observed },
    ...usual,
    beside: 'stream of 10 chunks, bare',
  },
  { name: 'plugin hook, nobody listens', asked: { way: 'plugin hooks' }, ...tiny },
  { name: 'plugin hook that 4 callbacks answer', asked: { way: 'plugin hooks', wrappers: 4 }, ...usual },
]

const relays: readonly Wanted[] = [
  { name: 'NeMo Relay: tool call, observer alone', asked: { way: 'relay tool', ...observed }, ...slow },
  { name: 'NeMo Relay: tool call, 4 + 4 + observer', asked: { way: 'relay tool', ...four, ...observed }, ...slow },
  { name: 'NeMo Relay: tool call, 16 + 16 + observer', asked: { way: 'relay tool', ...sixteen, ...observed }, ...slow },
  {
    name: 'NeMo Relay: tool call, 4 + 4 + observer, 64 KiB',
    asked: { way: 'relay tool', ...four, ...observed, ...large },
    ...slow,
  },
  {
    name: 'NeMo Relay: model call without a stream, 4 + 4 + observer',
    asked: { way: 'relay model', ...four, ...observed },
    ...slow,
  },
  {
    name: 'NeMo Relay: model call of 10 chunks, 4 + 4 around the chunks + observer',
    asked: { way: 'relay stream', ...four, ...observed },
    ...slow,
  },
]

export const managed: Figure = {
  name: 'managed',
  about: 'a managed call and plugin hooks beside the bare call, an onion by hand, koa-compose and NeMo Relay',
  async measure(options) {
    const processes = options.full ? 5 : 3
    options.progress(`${ours.length} ways of making a call`)
    const best = await bestOf(ours.map(effortOf), processes, options.progress)
    const cpu = new Map(ours.map(({ name }, index) => [name, best[index] ?? Number.NaN]))
    const rows = ours.map((wanted) => rowOf(wanted, cpu))
    return [...rows, ...between(cpu), ...(await relayRows(options)), ...(await heldRows(options))]
  },
}

function effortOf({ asked, calls, rounds }: Wanted): Asked & Effort {
  return { ...asked, calls, rounds }
}

function rowOf({ name, bar, note, beside }: Wanted, cpu: ReadonlyMap<string, number>): Row {
  return {
    name,
    measured: cpu.get(name) ?? Number.NaN,
    unit: 'µs',
    ...(bar === undefined ? {} : { bar }),
    ...(note === undefined ? {} : { note }),
    ...(beside === undefined ? {} : { baseline: { what: beside, value: cpu.get(beside) ?? Number.NaN } }),
  }
}

/** Bars for the difference between two variants of the same run. */
function between(cpu: ReadonlyMap<string, number>): Row[] {
  const of = (name: string) => cpu.get(name) ?? Number.NaN
  return [
    { name: 'nobody listens, over the bare function', measured: of(none) - of('bare function'), unit: 'µs', bar: 0.1 },
    {
      name: '64 KiB of messages over none, 4 + 4 + observer',
      measured: of(withMessages) / of(small),
      unit: '×',
      bar: 1.6,
    },
    {
      name: '64 KiB of messages over none, as the agent calls it',
      measured: of(asAgentWithMessages) / of(asAgent),
      unit: '×',
      bar: 1.6,
      note: 'what a policy allowed is copied for the wrappers and compared afterwards',
    },
  ]
}

async function relayRows({ full, progress }: BenchOptions): Promise<Row[]> {
  const missing = await installRelay()
  if (missing !== undefined) return [{ name: 'NeMo Relay 0.9.2', unit: 'µs', note: missing }]
  progress('NeMo Relay 0.9.2')
  const best = await bestOf(relays.map(effortOf), full ? 3 : 1, progress)
  return relays.map(({ name }, index) => ({ name, measured: best[index] ?? Number.NaN, unit: 'µs' }))
}

async function heldRows({ progress }: BenchOptions): Promise<Row[]> {
  progress('1,000,000 calls')
  const { early, late, lost } = await steady(1_000_000, 1, 'at once')
  progress('64 calls in flight')
  const busy = await steady(200_000, 64, 'at once')
  const turning = await steady(10_000, 64, 'turn')
  progress('10,000 calls in 1,000 scopes')
  const soak = await soakCalls({ scopes: 1_000, callsPerScope: 10, rounds: 5 })
  const held = (mb: number) => `${mb.toFixed(1)} MB after 100,000`
  return [
    {
      name: 'heap after collection, 100,000 to 1,000,000 calls with two observers',
      measured: late.heap - early.heap,
      unit: 'MB',
      bar: 1,
      note: held(early.heap),
    },
    { name: 'resident memory, the same', measured: late.rss - early.rss, unit: 'MB', bar: 10, note: held(early.rss) },
    { name: 'events lost, the same', measured: lost, unit: 'events', bar: 0 },
    {
      name: 'events lost, 64 calls in flight, asynchronous observer',
      measured: busy.lost,
      unit: 'events',
      bar: 0,
      note: `of ${busy.delivered.toLocaleString('en')}`,
    },
    {
      name: 'events lost, 64 calls in flight, an observer that takes a turn of the loop for each',
      measured: turning.lost,
      unit: 'events',
      bar: 0,
      note: `of ${turning.delivered.toLocaleString('en')}, fewer than the queue holds`,
    },
    {
      name: 'scopes that stay, calls and events that are wrong: 10,000 calls at once in 1,000 scopes',
      measured: soak.leakedScopes + soak.failedCalls + soak.mismatchedEvents + soak.dropped,
      unit: 'events',
      bar: 0,
      note: `five times; the heap grew by ${soak.heapGrowthMb.toFixed(1)} MB`,
    },
  ]
}
