/**
 * Runs a random managed call on the real middleware and records everything that can be observed.
 */
import { isHermesError } from '../../../src/lib/errors.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { Fields, ManagedEvent, MiddlewareRegistrar, Scope } from '../../../src/middleware/contract.ts'
import { GuardrailRejected } from '../../../src/middleware/guardrail-rejected.ts'
import type { Middleware } from '../../../src/middleware/managed-call.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import type { Case, Step } from './case.ts'
import type { CallResult } from './expected-result.ts'

export interface ObservedCall {
  readonly result: CallResult
  readonly runs: readonly string[]
  readonly chunks: readonly string[]
  readonly events: readonly ManagedEvent[]
  /** The id of the scope in which the call was made. */
  readonly parent: string | null
  /** Streams of the provider that began and did not end. */
  readonly openStreams: number
  /** Collectors that were not finished exactly once. */
  readonly unfinishedCollectors: number
  /** Whether the tool or the provider ended because the caller aborted. */
  readonly abortHonoured: boolean
  /** Whether the call had not settled when its signal aborted. */
  readonly aborted: boolean
}

/** An error of a test callback. The call must reject with the same object. */
class CallbackError extends Error {}

export async function runCase(randomCase: Case): Promise<ObservedCall> {
  const middleware = createMiddleware({ log: silentLog, graceMs: 0 })
  const recorder = createRecorder(randomCase, middleware)
  const plugins = [middleware.forPlugin('one'), middleware.forPlugin('two')]
  const levels = { everything: middleware, 'plugin one': plugins[0], 'plugin two': plugins[1] }
  if (randomCase.observed) middleware.registerSubscriber('watch', recorder.recordEvent)
  const register = (step: Step, on: MiddlewareRegistrar | undefined) => {
    if (on !== undefined) recorder.register(step, on)
  }
  const playIn = async (scope: Scope | undefined) => {
    for (const step of randomCase.steps)
      register(step, step.level === 'scope' ? (scope ?? middleware) : levels[step.level])
    return recorder.run()
  }
  const result = randomCase.inScope
    ? await middleware.scope({ name: 'around' }, async (scope) => {
        recorder.parent = scope.uuid
        return playIn(scope)
      })
    : await playIn(undefined)
  await runTicks(20)
  await middleware.flush()
  return recorder.observed(result)
}

async function runTicks(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await undefined
}

function createRecorder(randomCase: Case, middleware: Middleware) {
  const thrown = new Map<unknown, string>()
  const runs: string[] = []
  const chunks: string[] = []
  const events: ManagedEvent[] = []
  const finishes: number[] = []
  let openStreams = 0
  let abortHonoured = false
  let aborted = false
  const reason = new Error('aborted')

  const labelled = <Thrown>(error: Thrown, label: string): Thrown => {
    thrown.set(error, label)
    return error
  }
  const own = (label: string) => labelled(new CallbackError(label), label)
  const rejection = (name: string) => labelled(new GuardrailRejected(name, 'no'), `rejected ${name}`)
  /** Throws the reason of an abort, if this case honours aborts. */
  const throwIfAborted = (signal: AbortSignal) => {
    if (!randomCase.honoursAbort || !signal.aborted) return
    abortHonoured ||= signal.reason === reason
    throw signal.reason
  }
  const policy = async (value: Fields): Promise<Fields> => {
    if (randomCase.policy === 'throws') throw own('own policy')
    return randomCase.policy === 'changes' ? { a: `${value['a']}P` } : value
  }
  const passes = randomCase.policy === 'none' ? {} : { policy, rewrite: policy }

  async function handler({ a }: Fields, signal: AbortSignal): Promise<unknown> {
    runs.push(String(a))
    return middleware.scope({ name: 'inside' }, async () => {
      await runTicks(randomCase.ticks)
      throwIfAborted(signal)
      if (randomCase.end === 'throws') throw own(`tool ${a}`)
      return `tool ${a}`
    })
  }
  async function* stream({ a }: Fields, signal: AbortSignal): AsyncGenerator<string, string, void> {
    runs.push(String(a))
    openStreams += 1
    try {
      const all: string[] = []
      for (let index = 0; index < 3; index++) {
        await runTicks(randomCase.ticks)
        throwIfAborted(signal)
        if (index === 1 && randomCase.end === 'throws') throw own(`tool ${a}`)
        all.push(`${a}/${index}`)
        yield `${a}/${index}`
      }
      return all.join(' ')
    } finally {
      openStreams -= 1
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
    const value = { a: 'a' }
    const withSignal = signal === undefined ? {} : { signal }
    if (randomCase.kind === 'tool')
      return middleware.tool<Fields, unknown>({
        ...withSignal,
        ...passes,
        toolName: 'tool',
        toolCallId: 'id',
        args: value,
        handler,
      })
    return middleware.model<Fields, string, string>({
      ...withSignal,
      ...passes,
      provider: 'tool',
      model: 'm',
      request: value,
      stream,
      collector,
      onChunk: (chunk) => void chunks.push(chunk),
    })
  }
  async function run(): Promise<CallResult> {
    const controller = randomCase.signal === null ? undefined : new AbortController()
    let settled = false
    if (typeof randomCase.signal === 'number')
      void runTicks(randomCase.signal).then(() => {
        aborted = !settled
        controller?.abort(reason)
      })
    try {
      return { value: await call(controller?.signal) }
    } catch (error) {
      return { error: errorLabel(error) }
    } finally {
      settled = true
    }
  }

  function errorLabel(error: unknown): string {
    const known = thrown.get(error)
    if (known !== undefined) return known
    if (error === reason) return 'aborted'
    if (error instanceof GuardrailRejected) return `rejected ${error.guardrail}`
    return isHermesError(error) ? `code ${error.code}` : `unexpected: ${String(error)}`
  }

  return {
    parent: '',
    run,
    recordEvent(event: ManagedEvent) {
      events.push(event)
    },
    register: (step: Step, on: MiddlewareRegistrar) => registerStep(step, on, own, rejection),
    observed(result: CallResult): ObservedCall {
      return {
        result,
        runs: [...runs].sort(),
        chunks: [...chunks].sort(),
        events,
        parent: this.parent === '' ? null : this.parent,
        openStreams,
        unfinishedCollectors: finishes.filter((count) => count !== 1).length,
        abortHonoured,
        aborted,
      }
    },
  }
}

type CreateError = (label: string) => Error

function registerStep(step: Step, on: MiddlewareRegistrar, own: CreateError, rejection: CreateError): void {
  const { point, name, priority, fails, breakChain, behaviour } = step
  const options = { priority, ...(fails === null ? {} : { fails }) }
  const runWrapper = (value: Fields, next: (value?: Fields) => Promise<unknown>) =>
    runStep(step, value, next, own, rejection)
  const rewrite = async (value: Fields): Promise<Fields | undefined> => {
    await runTicks(step.ticks)
    if (behaviour.startsWith('changes in place')) Object.assign(value, { a: `${value['a']}${name}` })
    if (behaviour.endsWith('throws')) throw own(`own ${name}`)
    if (behaviour === 'rejects') throw rejection(name)
    if (behaviour === 'returns null' || behaviour === 'returns undefined') return undefined
    return behaviour === 'changes' ? { a: `${value['a']}${name}` } : value
  }
  const guardrail = async () => {
    await runTicks(step.ticks)
    if (behaviour === 'throws') throw own(`own ${name}`)
    return guardrailResults.get(behaviour)
  }
  const missing = () => JSON.parse('null')
  if (point === 'guardrail') {
    on.registerGuardrail(name, 'tool', guardrail, options)
    on.registerGuardrail(name, 'model', guardrail, options)
  } else if (point === 'request') {
    const chained = { ...options, breakChain }
    on.registerIntercept(name, 'tool_request', async ({ args }) => (await rewrite(args)) ?? missing(), chained)
    const request = async (value: Fields) => {
      const request = await rewrite(value)
      return request === undefined ? missing() : { request }
    }
    on.registerIntercept(name, 'model_request', (view) => request(view.request), chained)
  } else if (point === 'hermes request') {
    const requestPatch = async (key: 'args' | 'request', value: Fields) => {
      const rewritten = await rewrite(value)
      if (behaviour === 'returns null') return null
      return rewritten === undefined || behaviour === 'changes in place' ? undefined : { [key]: rewritten }
    }
    on.registerMiddleware('tool_request', ({ args }) => requestPatch('args', args), options)
    on.registerMiddleware('llm_request', ({ request }) => requestPatch('request', request), options)
  } else if (point === 'execution') {
    on.registerIntercept(name, 'tool_execution', ({ args }, next) => runWrapper(args, next), options)
    on.registerIntercept(name, 'model_execution', ({ request }, next) => runWrapper(request, next), options)
  } else if (point === 'hermes execution') {
    on.registerMiddleware('tool_execution', ({ args, next_call }) => runWrapper(args, next_call), options)
    on.registerMiddleware('llm_execution', ({ request, next_call }) => runWrapper(request, next_call), options)
  } else
    on.registerIntercept(name, 'model_stream', ({ request }, next) => streamStep(step, request, next, own), options)
}

/** `JSON.parse` returns values that an untyped plugin might return. */
const guardrailResults = new Map<string, string | null | undefined>([
  ['allows', null],
  ['returns undefined', undefined],
  ['rejects', 'no'],
  ['returns an invalid value', JSON.parse('5')],
])

async function runStep(
  { behaviour, name, ticks }: Step,
  value: Fields,
  next: (value?: Fields) => Promise<unknown>,
  own: CreateError,
  rejection: CreateError,
): Promise<unknown> {
  if (behaviour === 'is not awaited') {
    void next()
    return `own ${name}`
  }
  await runTicks(ticks)
  if (behaviour === 'throws first') throw own(`own ${name}`)
  if (behaviour === 'rejects first') throw rejection(name)
  if (behaviour === 'short-circuits') return `own ${name}`
  if (behaviour === 'catches and returns a value') return next().catch(() => `caught ${name}`)
  if (behaviour === 'catches and throws') return next().catch(() => Promise.reject(own(`own ${name}`)))
  if (behaviour === 'catches and returns undefined') return next().catch(() => undefined)
  if (behaviour === 'catches and returns null') return next().catch(() => null)
  const other = (mark = '') => ({ a: `${value['a']}${name}${mark}` })
  if (behaviour === 'calls twice concurrently') return joinResults(next(other('1')), next(other('2')))
  const result = await next(behaviour === 'changes the request' ? other() : undefined)
  await runTicks(ticks)
  if (behaviour === 'throws last') throw own(`own ${name}`)
  if (behaviour === 'rejects last') throw rejection(name)
  if (behaviour === 'changes the result') return `${result} ${name}`
  if (behaviour === 'returns undefined') return undefined
  if (behaviour === 'returns null') return null
  return behaviour === 'calls twice' ? next() : result
}

async function joinResults(...ways: readonly Promise<unknown>[]): Promise<unknown> {
  const values: unknown[] = []
  for (const one of await Promise.allSettled(ways)) {
    if (one.status === 'rejected') throw one.reason
    values.push(one.value)
  }
  return values.map(String).join(' and ')
}

async function* streamStep(
  { behaviour, name, ticks }: Step,
  { a }: Fields,
  next: (value?: Fields) => Promise<AsyncIterable<unknown>>,
  own: CreateError,
): AsyncGenerator<unknown> {
  await runTicks(ticks)
  if (behaviour === 'throws first') throw own(`own ${name}`)
  if (behaviour === 'short-circuits') return yield `own ${name}`
  for await (const chunk of await next(behaviour === 'changes the request' ? { a: `${a}${name}` } : undefined)) {
    if (behaviour === 'reads one and throws') throw own(`own ${name}`)
    yield behaviour === 'changes chunks' ? `${chunk}${name}` : chunk
    if (behaviour === 'yields one and throws') throw own(`own ${name}`)
    if (behaviour === 'stops after one') return
  }
  if (behaviour.endsWith('throws')) throw own(`own ${name}`)
}
