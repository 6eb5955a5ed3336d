/**
 * A random managed call: its registrations, what each of them does, and what the tool or the model does.
 */
import fc from 'fast-check'
import type { FailureMode } from '../../../src/middleware/contract.ts'

const wrapperBehaviours = [
  'passes through',
  'changes the request',
  'changes the result',
  'short-circuits',
  'throws first',
  'throws last',
  'calls twice',
  'calls twice concurrently',
  'catches and returns a value',
  'catches and throws',
  'catches and returns undefined',
  'catches and returns null',
  'returns undefined',
  'returns null',
  'rejects first',
  'rejects last',
  'is not awaited',
] as const

/** The possible behaviours of a step at each point. */
export const behaviours = {
  guardrail: ['allows', 'returns undefined', 'rejects', 'throws', 'returns an invalid value'],
  request: [
    'passes through',
    'changes',
    'changes in place',
    'throws',
    'changes in place and throws',
    'returns undefined',
  ],
  'hermes request': [
    'returns the same',
    'changes',
    'changes in place',
    'returns null',
    'returns undefined',
    'throws',
    'rejects',
  ],
  execution: wrapperBehaviours,
  'hermes execution': wrapperBehaviours,
  stream: ['passes through', 'changes the request', 'changes chunks', 'throws first', 'reads one and throws'].concat([
    'yields one and throws',
    'short-circuits',
    'stops after one',
  ]),
} as const

export type Point = keyof typeof behaviours

/** From the outermost to the innermost. */
export const levels = ['everything', 'plugin one', 'plugin two', 'scope'] as const

export interface Step {
  readonly point: Point
  /** One of the behaviours of its point. */
  readonly behaviour: string
  readonly level: (typeof levels)[number]
  readonly priority: number
  /** Null for the default of its family. */
  readonly fails: FailureMode | null
  readonly breakChain: boolean
  /** Unique. The order of names is not the order of registration. */
  readonly name: string
  /** Ticks of the microtask queue. */
  readonly ticks: number
}

export interface Case {
  readonly kind: 'tool' | 'model'
  /** In the order of registration. */
  readonly steps: readonly Step[]
  /** The policy of a tool, or the last rewrite of a model request. */
  readonly policy: 'none' | 'allows' | 'changes' | 'throws'
  /** With `throws` the stream of a model breaks after the first chunk. */
  readonly end: 'returns' | 'throws'
  /** Whether the tool or the provider ends when its signal aborts. */
  readonly honoursAbort: boolean
  readonly ticks: number
  readonly inScope: boolean
  readonly observed: boolean
  /** Null without a signal. A number: ticks of the microtask queue until it aborts. */
  readonly signal: null | 'quiet' | number
}

const step = fc
  .record({
    point: fc.constantFrom<Point[]>(
      ...(['guardrail', 'request', 'hermes request', 'stream'] as const),
      ...(['execution', 'hermes execution', 'execution', 'hermes execution'] as const),
    ),
    which: fc.nat({ max: 100 }),
    level: fc.constantFrom(...levels),
    priority: fc.constantFrom(-1, 0, 0, 1),
    fails: fc.constantFrom(null, null, 'open' as const, 'closed' as const),
    breakChain: fc.constantFrom(false, false, false, true),
    letter: fc.constantFrom('a', 'b', 'c'),
    ticks: fc.nat({ max: 2 }),
  })
  .map(({ which, letter, ...rest }) => {
    const known: readonly string[] = behaviours[rest.point]
    return { ...rest, letter, behaviour: known[which % known.length] ?? '' }
  })

export const cases: fc.Arbitrary<Case> = fc
  .record({
    kind: fc.constantFrom('tool' as const, 'model' as const),
    steps: fc.array(step, { maxLength: 8 }),
    policy: fc.constantFrom('none' as const, 'none' as const, 'allows' as const, 'changes' as const, 'throws' as const),
    end: fc.constantFrom('returns' as const, 'returns' as const, 'throws' as const),
    honoursAbort: fc.boolean(),
    ticks: fc.nat({ max: 3 }),
    inScope: fc.boolean(),
    observed: fc.boolean(),
    signal: fc.oneof(
      { weight: 5, arbitrary: fc.constant(null) },
      { weight: 4, arbitrary: fc.constant('quiet' as const) },
      { weight: 1, arbitrary: fc.nat({ max: 30 }) },
    ),
  })
  .map(({ steps, ...rest }) => ({
    ...rest,
    steps: steps.map(({ letter, level, ...one }, index): Step => {
      const here = level === 'scope' && !rest.inScope ? 'everything' : level
      return { ...one, level: here, name: `${letter}${index}` }
    }),
  }))
