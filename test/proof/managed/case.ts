/**
 * A random managed call: its registrations, what each of them does, and what the tool or the model does.
 */
import fc from 'fast-check'
import type { FailureMode } from '../../../src/middleware/contract.ts'

const wraps = [
  'hands on',
  'changes the request',
  'changes the result',
  'answers itself',
  'throws first',
  'throws last',
  'calls twice',
  'calls twice at once',
  'catches and answers',
  'catches and throws',
  'catches and says nothing',
  'catches and says null',
  'says nothing',
  'says null',
  'refuses first',
  'refuses last',
  'does not wait',
] as const

/** The possible behaviours of a step at each point. */
export const doings = {
  guardrail: ['allows', 'says nothing', 'refuses', 'throws', 'talks nonsense'],
  request: ['hands on', 'changes', 'changes in place', 'throws', 'changes in place and throws', 'says nothing'],
  'hermes request': ['says the same', 'changes', 'changes in place', 'says null', 'says nothing', 'throws', 'refuses'],
  execution: wraps,
  'hermes execution': wraps,
  stream: ['hands on', 'changes the request', 'changes chunks', 'throws first', 'takes one and throws'].concat([
    'hands one on and throws',
    'answers itself',
    'stops after one',
  ]),
} as const

export type Point = keyof typeof doings

/** From the outermost to the innermost. */
export const levels = ['everything', 'plugin one', 'plugin two', 'scope'] as const

export interface Step {
  readonly point: Point
  /** One of the behaviours of its point. */
  readonly does: string
  readonly level: (typeof levels)[number]
  readonly priority: number
  /** Null: the default of its family. */
  readonly fails: FailureMode | null
  readonly breakChain: boolean
  /** Unique. The order of names is not the order of registration. */
  readonly name: string
  /** Ticks of the microtask queue. */
  readonly takes: number
}

export interface Case {
  readonly kind: 'tool' | 'model'
  /** In the order of registration. */
  readonly steps: readonly Step[]
  /** The policy of a tool, or the last rewrite of a model request. */
  readonly policy: 'none' | 'passes' | 'changes' | 'throws'
  /** With `throws` the stream of a model breaks after the first chunk. */
  readonly end: 'answers' | 'throws'
  /** Whether the tool or the provider ends when its signal aborts. */
  readonly listens: boolean
  readonly takes: number
  readonly inScope: boolean
  readonly observed: boolean
  /** Null: no signal. A number: ticks of the microtask queue until it aborts. */
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
    takes: fc.nat({ max: 2 }),
  })
  .map(({ which, letter, ...rest }) => {
    const known: readonly string[] = doings[rest.point]
    return { ...rest, letter, does: known[which % known.length] ?? '' }
  })

export const cases: fc.Arbitrary<Case> = fc
  .record({
    kind: fc.constantFrom('tool' as const, 'model' as const),
    steps: fc.array(step, { maxLength: 8 }),
    policy: fc.constantFrom('none' as const, 'none' as const, 'passes' as const, 'changes' as const, 'throws' as const),
    end: fc.constantFrom('answers' as const, 'answers' as const, 'throws' as const),
    listens: fc.boolean(),
    takes: fc.nat({ max: 3 }),
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
