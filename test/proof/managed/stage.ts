/**
 * Runs a random managed call on the real middleware and records everything that can be observed.
 */
import { isHermesError } from '../../../src/lib/errors.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Fields, ManagedEvent, Middleware, MiddlewareRegistrar, Scope } from '../../../src/middleware/contract.ts'
import { GuardrailRejected } from '../../../src/middleware/guardrail-rejected.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import type { Case, Step } from './case.ts'
import type { Outcome } from './rules.ts'

export interface Played {
  readonly outcome: Outcome
  readonly runs: readonly string[]
  readonly chunks: readonly string[]
  readonly events: readonly ManagedEvent[]
  /** The id of the scope in which the call was made. */
  readonly parent: string | null
  /** Streams of the provider that began and did not end. */
  readonly leftOpen: number
  /** Collectors that were not finished exactly once. */
  readonly unfinished: number
  /** Whether the tool or the provider ended because the caller aborted. */
  readonly obeyed: boolean
  /** Whether the call had not settled when its signal aborted. */
  readonly aborted: boolean
}

/** An error of a test callback. The call must reject with the same object. */
class Own extends Error {}

export async function play(made: Case): Promise<Played> {
  const middleware = createMiddleware({ log: silentLog, graceMs: 0 })
  const stage = createStage(made, middleware)
  const plugins = [middleware.forPlugin('one'), middleware.forPlugin('two')]
  const levels = { everything: middleware, 'plugin one': plugins[0], 'plugin two': plugins[1] }
  if (made.observed) middleware.registerSubscriber('watch', stage.hear)
  const register = (step: Step, on: MiddlewareRegistrar | undefined) => {
    if (on !== undefined) stage.register(step, on)
  }
  const playIn = async (scope: Scope | undefined) => {
    for (const step of made.steps) register(step, step.level === 'scope' ? (scope ?? middleware) : levels[step.level])
    return stage.run()
  }
  const outcome = made.inScope
    ? await middleware.scope({ name: 'around' }, async (scope) => {
        stage.parent = scope.uuid
        return playIn(scope)
      })
    : await playIn(undefined)
  await turns(20)
  await middleware.flush()
  return stage.played(outcome)
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await undefined
}

function createStage(made: Case, middleware: Middleware) {
  const thrown = new Map<unknown, string>()
  const runs: string[] = []
  const chunks: string[] = []
  const events: ManagedEvent[] = []
  const finishes: number[] = []
  let open = 0
  let obeyed = false
  let aborted = false
  const reason = new Error('called off')

  const thrownAs = <Thrown>(error: Thrown, word: string): Thrown => {
    thrown.set(error, word)
    return error
  }
  const own = (word: string) => thrownAs(new Own(word), word)
  const refusal = (name: string) => thrownAs(new GuardrailRejected(name, 'no'), `refused ${name}`)
  /** Throws the reason of an abort, if this case honours aborts. */
  const heed = (signal: AbortSignal) => {
    if (!made.listens || !signal.aborted) return
    obeyed ||= signal.reason === reason
    throw signal.reason
  }
  const policy = async (value: Fields): Promise<Fields> => {
    if (made.policy === 'throws') throw own('own policy')
    return made.policy === 'changes' ? { a: `${value['a']}P` } : value
  }
  const passes = made.policy === 'none' ? {} : { policy, rewrite: policy }

  async function handler({ a }: Fields, signal: AbortSignal): Promise<unknown> {
    runs.push(String(a))
    return middleware.scope({ name: 'inside' }, async () => {
      await turns(made.takes)
      heed(signal)
      if (made.end === 'throws') throw own(`tool ${a}`)
      return `tool ${a}`
    })
  }
  async function* stream({ a }: Fields, signal: AbortSignal): AsyncGenerator<string, string, void> {
    runs.push(String(a))
    open += 1
    try {
      const all: string[] = []
      for (let index = 0; index < 3; index++) {
        await turns(made.takes)
        heed(signal)
        if (index === 1 && made.end === 'throws') throw own(`tool ${a}`)
        all.push(`${a}/${index}`)
        yield `${a}/${index}`
      }
      return all.join(' ')
    } finally {
      open -= 1
    }
  }
  const collector = () => {
    const own: string[] = []
    const at = finishes.push(0) - 1
    return {
      add: (chunk: string) => void own.push(chunk),
      finish() {
        finishes[at] = (finishes[at] ?? 0) + 1
        return own.join(' ')
      },
    }
  }
  const call = (signal: AbortSignal | undefined): Promise<unknown> => {
    const given = { a: 'a' }
    const heard = signal === undefined ? {} : { signal }
    if (made.kind === 'tool')
      return middleware.tool<Fields, unknown>({
        ...heard,
        ...passes,
        toolName: 'tool',
        toolCallId: 'id',
        args: given,
        handler,
      })
    return middleware.model<Fields, string, string>({
      ...heard,
      ...passes,
      provider: 'tool',
      model: 'm',
      request: given,
      stream,
      collector,
      onChunk: (chunk) => void chunks.push(chunk),
    })
  }
  async function run(): Promise<Outcome> {
    const controller = made.signal === null ? undefined : new AbortController()
    let settled = false
    if (typeof made.signal === 'number')
      void turns(made.signal).then(() => {
        aborted = !settled
        controller?.abort(reason)
      })
    try {
      return { value: await call(controller?.signal) }
    } catch (error) {
      return { error: wordFor(error) }
    } finally {
      settled = true
    }
  }

  function wordFor(error: unknown): string {
    const known = thrown.get(error)
    if (known !== undefined) return known
    if (error === reason) return 'called off'
    if (error instanceof GuardrailRejected) return `refused ${error.guardrail}`
    return isHermesError(error) ? `code ${error.code}` : `a stranger: ${String(error)}`
  }

  return {
    parent: '',
    run,
    hear(event: ManagedEvent) {
      events.push(event)
    },
    register: (step: Step, on: MiddlewareRegistrar) => registerStep(step, on, own, refusal),
    played(outcome: Outcome): Played {
      return {
        outcome,
        runs: [...runs].sort(),
        chunks: [...chunks].sort(),
        events,
        parent: this.parent === '' ? null : this.parent,
        leftOpen: open,
        unfinished: finishes.filter((count) => count !== 1).length,
        obeyed,
        aborted,
      }
    },
  }
}

type Make = (word: string) => Error

function registerStep(step: Step, on: MiddlewareRegistrar, own: Make, refusal: Make): void {
  const { point, name, priority, fails, breakChain, does } = step
  const options = { priority, ...(fails === null ? {} : { fails }) }
  const wrap = (value: Fields, next: (given?: Fields) => Promise<unknown>) => behave(step, value, next, own, refusal)
  const rewrite = async (value: Fields): Promise<Fields | undefined> => {
    await turns(step.takes)
    if (does.startsWith('changes in place')) Object.assign(value, { a: `${value['a']}${name}` })
    if (does.endsWith('throws')) throw own(`own ${name}`)
    if (does === 'refuses') throw refusal(name)
    if (does.startsWith('says n')) return undefined
    return does === 'changes' ? { a: `${value['a']}${name}` } : value
  }
  const guardrail = async () => {
    await turns(step.takes)
    if (does === 'throws') throw own(`own ${name}`)
    return verdicts.get(does)
  }
  const missing = () => JSON.parse('null')
  if (point === 'guardrail') {
    on.registerGuardrail(name, 'tool', guardrail, options)
    on.registerGuardrail(name, 'model', guardrail, options)
  } else if (point === 'request') {
    const chained = { ...options, breakChain }
    on.registerIntercept(name, 'tool_request', async ({ args }) => (await rewrite(args)) ?? missing(), chained)
    const request = async (value: Fields) => {
      const given = await rewrite(value)
      return given === undefined ? missing() : { request: given }
    }
    on.registerIntercept(name, 'model_request', (view) => request(view.request), chained)
  } else if (point === 'hermes request') {
    const said = async (key: 'args' | 'request', value: Fields) => {
      const given = await rewrite(value)
      if (does === 'says null') return null
      return given === undefined || does === 'changes in place' ? undefined : { [key]: given }
    }
    on.registerMiddleware('tool_request', ({ args }) => said('args', args), options)
    on.registerMiddleware('llm_request', ({ request }) => said('request', request), options)
  } else if (point === 'execution') {
    on.registerIntercept(name, 'tool_execution', ({ args }, next) => wrap(args, next), options)
    on.registerIntercept(name, 'model_execution', ({ request }, next) => wrap(request, next), options)
  } else if (point === 'hermes execution') {
    on.registerMiddleware('tool_execution', ({ args, next_call }) => wrap(args, next_call), options)
    on.registerMiddleware('llm_execution', ({ request, next_call }) => wrap(request, next_call), options)
  } else on.registerIntercept(name, 'model_stream', ({ request }, next) => flow(step, request, next, own), options)
}

/** `JSON.parse` returns values that an untyped plugin might return. */
const verdicts = new Map<string, string | null | undefined>([
  ['allows', null],
  ['says nothing', undefined],
  ['refuses', 'no'],
  ['talks nonsense', JSON.parse('5')],
])

async function behave(
  { does, name, takes }: Step,
  value: Fields,
  next: (given?: Fields) => Promise<unknown>,
  own: Make,
  refusal: Make,
): Promise<unknown> {
  if (does === 'does not wait') {
    void next()
    return `own ${name}`
  }
  await turns(takes)
  if (does === 'throws first') throw own(`own ${name}`)
  if (does === 'refuses first') throw refusal(name)
  if (does === 'answers itself') return `own ${name}`
  if (does === 'catches and answers') return next().catch(() => `caught ${name}`)
  if (does === 'catches and throws') return next().catch(() => Promise.reject(own(`own ${name}`)))
  if (does === 'catches and says nothing') return next().catch(() => undefined)
  if (does === 'catches and says null') return next().catch(() => null)
  const other = (mark = '') => ({ a: `${value['a']}${name}${mark}` })
  if (does === 'calls twice at once') return both(next(other('1')), next(other('2')))
  const result = await next(does === 'changes the request' ? other() : undefined)
  await turns(takes)
  if (does === 'throws last') throw own(`own ${name}`)
  if (does === 'refuses last') throw refusal(name)
  if (does === 'changes the result') return `${result} ${name}`
  if (does === 'says nothing') return undefined
  if (does === 'says null') return null
  return does === 'calls twice' ? next() : result
}

async function both(...ways: readonly Promise<unknown>[]): Promise<unknown> {
  const values: unknown[] = []
  for (const one of await Promise.allSettled(ways)) {
    if (one.status === 'rejected') throw one.reason
    values.push(one.value)
  }
  return values.map(String).join(' and ')
}

async function* flow(
  { does, name, takes }: Step,
  { a }: Fields,
  next: (given?: Fields) => Promise<AsyncIterable<unknown>>,
  own: Make,
): AsyncGenerator<unknown> {
  await turns(takes)
  if (does === 'throws first') throw own(`own ${name}`)
  if (does === 'answers itself') return yield `own ${name}`
  for await (const chunk of await next(does === 'changes the request' ? { a: `${a}${name}` } : undefined)) {
    if (does === 'takes one and throws') throw own(`own ${name}`)
    yield does === 'changes chunks' ? `${chunk}${name}` : chunk
    if (does === 'hands one on and throws') throw own(`own ${name}`)
    if (does === 'stops after one') return
  }
  if (does.endsWith('throws')) throw own(`own ${name}`)
}
