import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Fields } from '../../src/middleware/contract.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { rejection, setUp, toolCall } from '../middleware/support.ts'

/** The behaviour of one wrapper. `number` identifies its values and errors. */
interface Step {
  readonly family: 'nemo' | 'hermes'
  readonly fails: 'open' | 'closed'
  readonly does:
    | 'hands on'
    | 'changes the arguments'
    | 'changes the result'
    | 'answers itself'
    | 'throws first'
    | 'throws last'
    | 'calls twice'
    | 'catches and answers'
    | 'catches and throws'
    | 'swallows'
    | 'does not wait'
  /** Number of microtask turns before and after `next`. */
  readonly takes: number
}

const step: fc.Arbitrary<Step> = fc.record({
  family: fc.constantFrom('nemo', 'hermes'),
  fails: fc.constantFrom('open', 'closed'),
  does: fc.constantFrom(
    'hands on',
    'changes the arguments',
    'changes the result',
    'answers itself',
    'throws first',
    'throws last',
    'calls twice',
    'catches and answers',
    'catches and throws',
    'swallows',
    'does not wait',
  ),
  takes: fc.nat({ max: 2 }),
})

const chains = fc.record({ steps: fc.array(step, { maxLength: 7 }), toolFails: fc.boolean() })

type Outcome = { readonly value: unknown } | { readonly error: string }

/** The expected result, computed without promises: a wrapper maps the result of the rest to its own. */
function model(steps: readonly Step[], toolFails: boolean) {
  let runs = 0
  const rest = (depth: number, args: string): Outcome => {
    const current = steps[depth]
    if (current === undefined) {
      runs += 1
      return toolFails ? { error: `tool ${args}` } : { value: `tool ${args}` }
    }
    const next = (given = args) => rest(depth + 1, given)
    return wrapped(current, depth, args, next)
  }
  const outcome = rest(0, 'a')
  return { outcome, runs }
}

function wrapped(one: Step, depth: number, args: string, next: (given?: string) => Outcome): Outcome {
  const { family, does } = one
  if (does === 'answers itself') return { value: `own ${depth}` }
  if (does === 'throws first') return one.fails === 'open' ? next() : { error: `own ${depth}` }
  // NeMo aborts the rest and keeps the wrapper's result. Hermes awaits the rest.
  if (does === 'does not wait') return family === 'nemo' ? { value: `own ${depth}` } : next()
  const got = next(does === 'changes the arguments' ? `${args}${depth}` : args)
  return 'error' in got ? afterFailure(one, depth, got) : afterSuccess(one, depth, got, next)
}

function afterFailure({ family, does }: Step, depth: number, got: Outcome): Outcome {
  if (does === 'catches and answers') return { value: `caught ${depth}` }
  if (does === 'catches and throws') return { error: `own ${depth}` }
  return does === 'swallows' && family === 'nemo' ? { value: undefined } : got
}

function afterSuccess(
  { family, fails, does }: Step,
  depth: number,
  got: { readonly value: unknown },
  next: () => Outcome,
): Outcome {
  const open = fails === 'open'
  if (does === 'changes the result') return { value: `${got.value} ${depth}` }
  if (does === 'throws last') return open ? got : { error: `own ${depth}` }
  if (does !== 'calls twice') return got
  if (family === 'hermes') return open ? got : { error: 'middleware/next-called-twice' }
  const second = next()
  return 'error' in second && open ? got : second
}

class Own extends Error {}

async function behave(
  { does, takes }: Step,
  depth: number,
  args: Fields,
  next: (given?: Fields) => Promise<unknown>,
): Promise<unknown> {
  const wait = async () => {
    for (let turn = 0; turn < takes; turn++) await undefined
  }
  const own = () => new Own(`own ${depth}`)
  if (does === 'does not wait') {
    void next()
    return `own ${depth}`
  }
  await wait()
  if (does === 'throws first') throw own()
  if (does === 'answers itself') return `own ${depth}`
  if (does === 'catches and answers') return next().catch(() => `caught ${depth}`)
  if (does === 'catches and throws') return next().catch(() => Promise.reject(own()))
  if (does === 'swallows') return next().catch(() => undefined)
  const result = await next(does === 'changes the arguments' ? { a: `${args['a']}${depth}` } : undefined)
  await wait()
  if (does === 'throws last') throw own()
  if (does === 'changes the result') return `${result} ${depth}`
  if (does === 'calls twice') return next()
  return result
}

function register(middleware: Middleware, current: Step, depth: number): void {
  const { family, fails } = current
  const options = { fails, priority: depth }
  if (family === 'nemo')
    middleware.registerIntercept(
      `step ${depth}`,
      'tool_execution',
      ({ args }, next) => behave(current, depth, args, next),
      options,
    )
  else
    middleware.registerMiddleware(
      'tool_execution',
      ({ args, next_call }) => behave(current, depth, args, next_call),
      options,
    )
}

function readError(error: unknown): string {
  if (error instanceof Error && 'code' in error) return String(error.code)
  return error instanceof Error ? error.message : String(error)
}

test('random chains of both families that throw, catch, replace and repeat end as a simple model says', async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ({ steps, toolFails }) => {
      // Wrappers of NeMo are always outside.
      const ordered = [...steps].sort((a, b) => Number(a.family === 'hermes') - Number(b.family === 'hermes'))
      const { middleware } = setUp()
      for (const [depth, current] of ordered.entries()) register(middleware, current, depth)
      let runs = 0
      const call = toolCall({
        args: { a: 'a' },
        async handler({ a }) {
          runs += 1
          if (toolFails) throw new Own(`tool ${a}`)
          return `tool ${a}`
        },
      })
      let outcome: Outcome
      try {
        outcome = { value: await middleware.tool(call) }
      } catch (error) {
        outcome = { error: readError(error) }
      }
      const expected = model(ordered, toolFails)
      assert.deepEqual(outcome, expected.outcome)
      // An aborted branch may not have reached the tool.
      if (ordered.some(({ does }) => does === 'does not wait'))
        assert.ok(runs <= Math.max(expected.runs, 2 ** ordered.length))
      else assert.equal(runs, expected.runs)
    }),
    { numRuns: 1_500 },
  )
})

test('a chain of Hermes callbacks that fail open runs the tool once, unless a callback replaces the call', async () => {
  const hermes = step.map((one): Step => ({ ...one, family: 'hermes', fails: 'open' }))
  await fc.assert(
    fc.asyncProperty(fc.array(hermes, { maxLength: 8 }), fc.boolean(), async (steps, toolFails) => {
      const { middleware } = setUp()
      for (const [depth, current] of steps.entries()) register(middleware, current, depth)
      let runs = 0
      const fault = new TypeError('the tool failed')
      const handler = async () => {
        runs += 1
        if (toolFails) throw fault
        return 'done'
      }
      await rejection(middleware.tool(toolCall({ handler })))
      assert.equal(runs, steps.some(({ does }) => does === 'answers itself') ? 0 : 1)
    }),
    { numRuns: 1_000 },
  )
})

test('rewrites that fail or return nothing keep the result of the others', async () => {
  const rewrite = fc.record({
    family: fc.constantFrom('nemo', 'hermes'),
    does: fc.constantFrom('rewrites', 'throws', 'mutates its copy and throws', 'hands on'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(rewrite, { maxLength: 8 }), async (steps) => {
      const { middleware } = setUp()
      const change = (args: Fields, does: string, depth: number) => {
        if (does === 'mutates its copy and throws') Object.assign(args, { list: ['spoilt'] })
        if (does === 'throws' || does === 'mutates its copy and throws') throw new Own('no')
        const { list } = args
        return does === 'rewrites' ? { list: [...(Array.isArray(list) ? list : []), depth] } : args
      }
      for (const [depth, { family, does }] of steps.entries())
        if (family === 'nemo')
          middleware.registerIntercept(`step ${depth}`, 'tool_request', ({ args }) => change(args, does, depth), {
            fails: 'open',
            priority: depth,
          })
        else middleware.registerMiddleware('tool_request', ({ args }) => ({ args: change(args, does, depth) }))
      const args = { list: [] }
      const result = await middleware.tool(toolCall({ args }))
      const numbers = (family: string) =>
        steps.flatMap((one, depth) => (one.family === family && one.does === 'rewrites' ? [depth] : []))
      assert.deepEqual(result, { list: [...numbers('nemo'), ...numbers('hermes')] })
      assert.deepEqual(args, { list: [] })
    }),
    { numRuns: 500 },
  )
})
