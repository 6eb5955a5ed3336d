/**
 * The expected result of a random managed call, computed without promises: the rules of `contract/middleware.md` §1
 * and `hermes.md` §2.8 as functions from the result of the rest of the chain to the result of a step.
 */
import { type Case, levels, type Point, type Step } from './case.ts'

/** Errors as labels that contain their origin; `code …` for errors of the runtime itself. */
export type CallResult = { readonly value: unknown } | { readonly error: string }

export interface ExpectedResult {
  readonly result: CallResult
  /** The request of each run of the tool or the provider, sorted. */
  readonly runs: readonly string[]
  /** The stream chunks that the caller received, sorted. */
  readonly chunks: readonly string[]
  /** Whether a branch is not awaited, so that fewer runs are possible. */
  readonly mayRunLess: boolean
  readonly events: {
    readonly guardrails: number
    readonly rejections: number
    readonly failedRequests: number
    /** Undefined when the call was not started. */
    readonly call: 'OK' | 'ERROR' | undefined
  }
}

const chunksOfProvider = 3

/** The steps of one point in the order in which they run. */
export function ordered(steps: readonly Step[], point: Point): readonly Step[] {
  const named = !point.startsWith('hermes')
  return steps
    .filter((step) => step.point === point)
    .sort(
      (one, other) =>
        one.priority - other.priority ||
        levels.indexOf(one.level) - levels.indexOf(other.level) ||
        (named ? (one.name < other.name ? -1 : 1) : 0),
    )
}

export function isOpen({ point, fails }: Step): boolean {
  return fails === null ? point.startsWith('hermes') : fails === 'open'
}

class CallFailed extends Error {
  readonly result: CallResult

  constructor(error: string) {
    super(error)
    this.result = { error }
  }
}

export function expectedResultOf(randomCase: Case): ExpectedResult {
  const counts = { guardrails: 0, rejections: 0, failedRequests: 0 }
  const inner = createInner(randomCase)
  let call: 'OK' | 'ERROR' | undefined
  const computeResult = (): CallResult => {
    try {
      guard(randomCase, counts)
      const request = rewritten(randomCase, counts)
      if (request.changed) guard(randomCase, counts)
      const value = randomCase.kind === 'tool' ? withPolicy(randomCase, request.value) : request.value
      const result = inner.execute(value)
      call = 'error' in result ? 'ERROR' : 'OK'
      return result
    } catch (error) {
      if (error instanceof CallFailed) return error.result
      throw error
    }
  }
  const found = computeResult()
  const { runs, chunks } = inner
  const mayRunLess = randomCase.steps.some(
    ({ point, behaviour }) => point === 'execution' && behaviour === 'is not awaited',
  )
  return {
    result: found,
    runs: [...runs].sort(),
    chunks: [...chunks].sort(),
    mayRunLess,
    events: { ...counts, call },
  }
}

type EventCounts = { -readonly [Key in 'guardrails' | 'rejections' | 'failedRequests']: number }

function guard({ steps }: Case, counts: EventCounts): void {
  for (const step of ordered(steps, 'guardrail')) {
    counts.guardrails += 1
    if (step.behaviour === 'rejects') {
      counts.rejections += 1
      throw new CallFailed(`rejected ${step.name}`)
    }
    if (isOpen(step)) continue
    if (step.behaviour === 'throws') throw new CallFailed(`own ${step.name}`)
    if (step.behaviour === 'returns an invalid value') throw new CallFailed('code middleware/bad-return')
  }
}

interface Rewritten {
  readonly value: string
  readonly changed: boolean
}

function rewritten(randomCase: Case, counts: EventCounts): Rewritten {
  const { steps, policy, kind } = randomCase
  const request = throughRewriters(steps, throughIntercepts(steps, counts), counts)
  if (kind === 'tool') return request
  return { value: withPolicy(randomCase, request.value), changed: request.changed || policy === 'changes' }
}

function throughIntercepts(steps: readonly Step[], counts: EventCounts): Rewritten {
  let value = 'a'
  for (const step of ordered(steps, 'request')) {
    const { behaviour, name } = step
    if (behaviour.endsWith('throws') || behaviour === 'returns undefined') {
      counts.failedRequests += 1
      if (!isOpen(step))
        throw new CallFailed(behaviour === 'returns undefined' ? 'code middleware/bad-return' : `own ${name}`)
      continue
    }
    if (behaviour !== 'passes through') value += name
    if (step.breakChain) break
  }
  return { value, changed: value !== 'a' }
}

function throughRewriters(steps: readonly Step[], input: Rewritten, counts: EventCounts): Rewritten {
  let { value, changed } = input
  for (const step of ordered(steps, 'hermes request')) {
    const { behaviour, name } = step
    if (behaviour === 'changes') value += name
    if (behaviour === 'changes' || behaviour === 'returns the same') changed = true
    if (behaviour !== 'throws' && behaviour !== 'rejects') continue
    counts.failedRequests += 1
    if (behaviour === 'rejects') throw new CallFailed(`rejected ${name}`)
    if (!isOpen(step)) throw new CallFailed(`own ${name}`)
  }
  return { value, changed }
}

function withPolicy({ policy }: Case, value: string): string {
  if (policy === 'throws') throw new CallFailed('own policy')
  return policy === 'changes' ? `${value}P` : value
}

function createInner({ kind, steps, end }: Case) {
  const around = [...ordered(steps, 'execution'), ...ordered(steps, 'hermes execution')]
  const streams = ordered(steps, 'stream')
  const runs: string[] = []
  const chunks: string[] = []

  const frame = (depth: number, request: string): CallResult => {
    const step = around[depth]
    if (step === undefined) return kind === 'tool' ? tool(request) : model(request)
    return wrapperResult(step, request, (value) => frame(depth + 1, value))
  }
  const tool = (request: string): CallResult => {
    runs.push(request)
    return end === 'throws' ? { error: `tool ${request}` } : { value: `tool ${request}` }
  }
  const model = (request: string): CallResult => {
    const inner = stream(0, request)
    chunks.push(...inner.chunks)
    return inner.error === undefined ? { value: inner.chunks.join(' ') } : { error: inner.error }
  }
  const stream = (depth: number, request: string): Chunks => {
    const step = streams[depth]
    if (step !== undefined) return streamStepResult(step, request, (value) => stream(depth + 1, value))
    runs.push(request)
    const all = Array.from({ length: chunksOfProvider }, (_, index) => `${request}/${index}`)
    return end === 'throws' ? { chunks: all.slice(0, 1), error: `tool ${request}` } : { chunks: all, error: undefined }
  }
  return { runs, chunks, execute: (request: string) => frame(0, request) }
}

interface Chunks {
  readonly chunks: readonly string[]
  readonly error: string | undefined
}

function streamStepResult(step: Step, request: string, rest: (request: string) => Chunks): Chunks {
  const { behaviour, name } = step
  if (behaviour === 'short-circuits') return { chunks: [`own ${name}`], error: undefined }
  const broken = { chunks: [], error: `own ${name}` }
  if (behaviour === 'throws first') return isOpen(step) ? rest(request) : broken
  const inner = rest(behaviour === 'changes the request' ? request + name : request)
  const { chunks, error } = inner
  if (behaviour === 'changes chunks') return { chunks: chunks.map((chunk) => chunk + name), error }
  if (behaviour === 'stops after one' && chunks.length > 0) return { chunks: chunks.slice(0, 1), error: undefined }
  if (!behaviour.endsWith('throws') || (chunks.length === 0 && error !== undefined)) return inner
  // A chunk that was yielded cannot be taken back. Before the first chunk the stream continues without the step.
  if (behaviour === 'yields one and throws' && chunks.length > 0) return { ...broken, chunks: chunks.slice(0, 1) }
  return isOpen(step) ? inner : broken
}

function wrapperResult(step: Step, request: string, rest: (request: string) => CallResult): CallResult {
  const { behaviour, name, point } = step
  const isHermes = point === 'hermes execution'
  const own: CallResult = { error: `own ${name}` }
  if (behaviour === 'short-circuits') return { value: `own ${name}` }
  if (behaviour === 'throws first') return isOpen(step) ? rest(request) : own
  if (behaviour === 'rejects first') return { error: `rejected ${name}` }
  if (behaviour === 'is not awaited') {
    const unawaited = rest(request)
    // NeMo aborts the rest of the chain and uses the value of the wrapper. Hermes waits for the rest.
    return isHermes ? unawaited : { value: `own ${name}` }
  }
  if (behaviour === 'calls twice concurrently') return twiceConcurrently(step, request, rest)
  const inner = rest(behaviour === 'changes the request' ? request + name : request)
  if ('error' in inner) return afterFailure(step, inner)
  if (behaviour === 'changes the result') return { value: `${inner.value} ${name}` }
  if (behaviour === 'returns null') return { value: null }
  if (behaviour === 'returns undefined') return isHermes ? inner : { value: undefined }
  if (behaviour === 'throws last') return isOpen(step) ? inner : own
  if (behaviour === 'rejects last') return { error: `rejected ${name}` }
  if (behaviour !== 'calls twice') return inner
  const second: CallResult = isHermes ? calledTwice : rest(request)
  return 'error' in second && isOpen(step) ? inner : second
}

const calledTwice: CallResult = { error: 'code middleware/next-called-twice' }

/** Waits for both and fails with the first of the two failures. */
function twiceConcurrently(step: Step, request: string, rest: (request: string) => CallResult): CallResult {
  const first = rest(`${request}${step.name}1`)
  const second = step.point === 'hermes execution' ? calledTwice : rest(`${request}${step.name}2`)
  if ('value' in first && 'value' in second) return { value: `${first.value} and ${second.value}` }
  const success = 'value' in first ? first : second
  if (isOpen(step) && 'value' in success) return success
  return 'error' in first ? first : second
}

function afterFailure({ behaviour, name, point }: Step, inner: CallResult): CallResult {
  if (behaviour === 'catches and returns a value') return { value: `caught ${name}` }
  if (behaviour === 'catches and throws') return { error: `own ${name}` }
  // A failure of the rest never becomes a success without a value.
  if (point === 'hermes execution') return inner
  if (behaviour === 'catches and returns undefined') return { value: undefined }
  return behaviour === 'catches and returns null' ? { value: null } : inner
}
