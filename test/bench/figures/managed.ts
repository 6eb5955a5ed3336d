/**
 * The cost of a managed call compared with a bare call, a handwritten onion, koa-compose and NeMo Relay; its memory
 * after many calls, and lost events.
 */
import { soakCalls } from '../../middleware/soak.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { bestCpuOf, type CallVariant, measureMemory, type SampleSize } from '../kit/managed/measure.ts'
import { installRelay } from '../kit/managed/relay.ts'

interface Measurement extends SampleSize {
  readonly name: string
  readonly call: CallVariant
  readonly bar?: number
  readonly note?: string
  /** The name of the row that is the baseline. */
  readonly baseline?: string
}

const tiny: SampleSize = { calls: 500_000, rounds: 5 }
const usual: SampleSize = { calls: 20_000, rounds: 8 }
const slow: SampleSize = { calls: 200, rounds: 3 }
const four = { rewrites: 4, wrappers: 4 }
const sixteen = { rewrites: 16, wrappers: 16 }
const observed = { observed: true }
const large = { kib: 64 }

const byHand = 'handwritten onion, same events'
const noListener = 'tool call, no listener'
const small = 'tool call, 4 rewrites + 4 wrappers + observer'
const withAgentOptions = 'the same with the options of the agent'
const withMessages = 'tool call, 4 + 4 + observer, 64 KiB of messages'
const withAgentOptionsAndMessages = `${withAgentOptions}, 64 KiB of messages`

const ours: readonly Measurement[] = [
  { name: 'bare function', call: { variant: 'bare' }, ...tiny },
  { name: noListener, call: { variant: 'managed' }, ...tiny, baseline: 'bare function' },
  { name: `${byHand}, 0 + 0`, call: { variant: 'onion', ...observed }, ...usual },
  {
    name: 'tool call, observer only',
    call: { variant: 'managed', ...observed },
    ...usual,
    baseline: `${byHand}, 0 + 0`,
  },
  { name: 'koa-compose, 4 + 4, no events', call: { variant: 'koa', ...four }, ...usual },
  { name: `${byHand}, 4 + 4`, call: { variant: 'onion', ...four, ...observed }, ...usual },
  { name: small, call: { variant: 'managed', ...four, ...observed }, ...usual, bar: 8, baseline: `${byHand}, 4 + 4` },
  {
    name: withAgentOptions,
    call: { variant: 'agent call', ...four, ...observed },
    ...usual,
    bar: 8,
    baseline: `${byHand}, 4 + 4`,
    note: 'with a policy and a new signal per call',
  },
  {
    name: 'the same with Hermes kinds, which fail open',
    call: { variant: 'hermes kinds', ...four, ...observed },
    ...usual,
    bar: 8,
    baseline: `${byHand}, 4 + 4`,
  },
  { name: 'koa-compose, 16 + 16, no events', call: { variant: 'koa', ...sixteen }, ...usual },
  { name: `${byHand}, 16 + 16`, call: { variant: 'onion', ...sixteen, ...observed }, ...usual },
  {
    name: 'tool call, 16 + 16 + observer',
    call: { variant: 'managed', ...sixteen, ...observed },
    ...usual,
    bar: 25,
    baseline: `${byHand}, 16 + 16`,
  },
  { name: `${byHand}, 4 + 4, 64 KiB`, call: { variant: 'onion', ...four, ...observed, ...large }, ...usual },
  {
    name: withMessages,
    call: { variant: 'managed', ...four, ...observed, ...large },
    ...usual,
    baseline: `${byHand}, 4 + 4, 64 KiB`,
  },
  {
    name: withAgentOptionsAndMessages,
    call: { variant: 'agent call', ...four, ...observed, ...large },
    ...usual,
    baseline: `${byHand}, 4 + 4, 64 KiB`,
  },
  { name: 'stream of 10 chunks, bare', call: { variant: 'bare stream' }, ...usual },
  {
    name: 'model call of 10 chunks, no listener',
    call: { variant: 'model' },
    ...usual,
    baseline: 'stream of 10 chunks, bare',
  },
  {
    name: 'model call of 10 chunks, 4 + 4 + observer',
    call: { variant: 'model', ...four, ...observed },
    ...usual,
    baseline: 'stream of 10 chunks, bare',
  },
  {
    name: 'model call of 10 chunks, 4 + 4 around the chunks + observer',
    call: { variant: 'stream', ...four, ...observed },
    ...usual,
    baseline: 'stream of 10 chunks, bare',
  },
  { name: 'plugin hook, no listener', call: { variant: 'plugin hooks' }, ...tiny },
  { name: 'plugin hook with 4 callbacks', call: { variant: 'plugin hooks', wrappers: 4 }, ...usual },
]

const relays: readonly Measurement[] = [
  { name: 'NeMo Relay: tool call, observer only', call: { variant: 'relay tool', ...observed }, ...slow },
  { name: 'NeMo Relay: tool call, 4 + 4 + observer', call: { variant: 'relay tool', ...four, ...observed }, ...slow },
  {
    name: 'NeMo Relay: tool call, 16 + 16 + observer',
    call: { variant: 'relay tool', ...sixteen, ...observed },
    ...slow,
  },
  {
    name: 'NeMo Relay: tool call, 4 + 4 + observer, 64 KiB',
    call: { variant: 'relay tool', ...four, ...observed, ...large },
    ...slow,
  },
  {
    name: 'NeMo Relay: model call without a stream, 4 + 4 + observer',
    call: { variant: 'relay model', ...four, ...observed },
    ...slow,
  },
  {
    name: 'NeMo Relay: model call of 10 chunks, 4 + 4 around the chunks + observer',
    call: { variant: 'relay stream', ...four, ...observed },
    ...slow,
  },
]

export const managed: Figure = {
  name: 'managed',
  about: 'a managed call and plugin hooks compared with the bare call, a handwritten onion, koa-compose and NeMo Relay',
  async measure(options) {
    const processes = options.full ? 5 : 3
    options.progress(`${ours.length} variants of a call`)
    const best = await bestCpuOf(ours.map(sampleOf), processes, options.progress)
    const cpu = new Map(ours.map(({ name }, index) => [name, best[index] ?? Number.NaN]))
    const rows = ours.map((measurement) => rowOf(measurement, cpu))
    return [...rows, ...differenceRows(cpu), ...(await relayRows(options)), ...(await memoryRows(options))]
  },
}

function sampleOf({ call, calls, rounds }: Measurement): CallVariant & SampleSize {
  return { ...call, calls, rounds }
}

function rowOf({ name, bar, note, baseline }: Measurement, cpu: ReadonlyMap<string, number>): Row {
  return {
    name,
    measured: cpu.get(name) ?? Number.NaN,
    unit: 'µs',
    bar,
    note,
    ...(baseline === undefined ? {} : { baseline: { what: baseline, value: cpu.get(baseline) ?? Number.NaN } }),
  }
}

/** Bars for the difference between two variants of the same run. */
function differenceRows(cpu: ReadonlyMap<string, number>): Row[] {
  const of = (name: string) => cpu.get(name) ?? Number.NaN
  return [
    {
      name: 'no listener, above the bare function',
      measured: of(noListener) - of('bare function'),
      unit: 'µs',
      bar: 0.1,
    },
    {
      name: '64 KiB of messages over none, 4 + 4 + observer',
      measured: of(withMessages) / of(small),
      unit: '×',
      bar: 1.6,
    },
    {
      name: '64 KiB of messages over none, with the options of the agent',
      measured: of(withAgentOptionsAndMessages) / of(withAgentOptions),
      unit: '×',
      bar: 1.6,
      note: 'the arguments that the policy allowed are copied for the wrappers and compared afterwards',
    },
  ]
}

async function relayRows({ full, progress }: BenchOptions): Promise<Row[]> {
  const missing = await installRelay()
  if (missing !== undefined) return [{ name: 'NeMo Relay 0.9.2', unit: 'µs', note: missing }]
  progress('NeMo Relay 0.9.2')
  const best = await bestCpuOf(relays.map(sampleOf), full ? 3 : 1, progress)
  return relays.map(({ name }, index) => ({ name, measured: best[index] ?? Number.NaN, unit: 'µs' }))
}

async function memoryRows({ progress }: BenchOptions): Promise<Row[]> {
  progress('1,000,000 calls')
  const { early, late, lost } = await measureMemory(1_000_000, 1, 'at once')
  progress('64 calls in flight')
  const busy = await measureMemory(200_000, 64, 'at once')
  const withTurns = await measureMemory(10_000, 64, 'turn')
  progress('10,000 calls in 1,000 scopes')
  const soak = await soakCalls({ scopes: 1_000, callsPerScope: 10, rounds: 5 })
  const afterWarmUp = (mb: number) => `${mb.toFixed(1)} MB after 100,000`
  return [
    {
      name: 'heap after collection, 100,000 to 1,000,000 calls with two observers',
      measured: late.heap - early.heap,
      unit: 'MB',
      bar: 1,
      note: afterWarmUp(early.heap),
    },
    {
      name: 'resident memory, the same',
      measured: late.rss - early.rss,
      unit: 'MB',
      bar: 10,
      note: afterWarmUp(early.rss),
    },
    { name: 'events lost, the same', measured: lost, unit: 'events', bar: 0 },
    {
      name: 'events lost, 64 calls in flight, asynchronous observer',
      measured: busy.lost,
      unit: 'events',
      bar: 0,
      note: `of ${busy.delivered.toLocaleString('en')}`,
    },
    {
      name: 'events lost, 64 calls in flight, an observer that takes one event loop turn per event',
      measured: withTurns.lost,
      unit: 'events',
      bar: 0,
      note: `of ${withTurns.delivered.toLocaleString('en')}, fewer than the queue holds`,
    },
    {
      name: 'leaked scopes, failed calls and mismatched events: 10,000 concurrent calls in 1,000 scopes',
      measured: soak.leakedScopes + soak.failedCalls + soak.mismatchedEvents + soak.dropped,
      unit: 'events',
      bar: 0,
      note: `five rounds; heap growth ${soak.heapGrowthMb.toFixed(1)} MB`,
    },
  ]
}
