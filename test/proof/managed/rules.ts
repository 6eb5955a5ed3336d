/**
 * The expected result of a random managed call, computed without promises: the rules of `contract/middleware.md` §1
 * and `hermes.md` §2.8 as functions from the result of the rest of the chain to the result of a step.
 */
import { type Case, levels, type Point, type Step } from './case.ts'

/** Errors as labels that contain their origin; `code …` for errors of the runtime itself. */
export type Outcome = { readonly value: unknown } | { readonly error: string }

export interface Expected {
  readonly outcome: Outcome
  /** The request of each run of the tool or the provider, sorted. */
  readonly runs: readonly string[]
  /** The stream chunks that the caller received, sorted. */
  readonly chunks: readonly string[]
  /** Whether a branch is not awaited, so that fewer runs are possible. */
  readonly loose: boolean
  readonly told: {
    readonly guardrails: number
    readonly refusals: number
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

class Ended extends Error {
  readonly outcome: Outcome

  constructor(error: string) {
    super(error)
    this.outcome = { error }
  }
}

export function expectedOf(made: Case): Expected {
  const told = { guardrails: 0, refusals: 0, failedRequests: 0 }
  const inner = createInner(made)
  let call: 'OK' | 'ERROR' | undefined
  const outcome = (): Outcome => {
    try {
      guard(made, told)
      const request = rewritten(made, told)
      if (request.changed) guard(made, told)
      const given = made.kind === 'tool' ? policed(made, request.value) : request.value
      const result = inner.execute(given)
      call = 'error' in result ? 'ERROR' : 'OK'
      return result
    } catch (error) {
      if (error instanceof Ended) return error.outcome
      throw error
    }
  }
  const found = outcome()
  const { runs, chunks } = inner
  const loose = made.steps.some(({ point, does }) => point === 'execution' && does === 'does not wait')
  return { outcome: found, runs: [...runs].sort(), chunks: [...chunks].sort(), loose, told: { ...told, call } }
}

type Told = { -readonly [Key in 'guardrails' | 'refusals' | 'failedRequests']: number }

function guard({ steps }: Case, told: Told): void {
  for (const step of ordered(steps, 'guardrail')) {
    told.guardrails += 1
    if (step.does === 'refuses') {
      told.refusals += 1
      throw new Ended(`refused ${step.name}`)
    }
    if (isOpen(step)) continue
    if (step.does === 'throws') throw new Ended(`own ${step.name}`)
    if (step.does === 'talks nonsense') throw new Ended('code middleware/bad-return')
  }
}

interface Rewritten {
  readonly value: string
  readonly changed: boolean
}

function rewritten(made: Case, told: Told): Rewritten {
  const { steps, policy, kind } = made
  const request = throughRewriters(steps, throughIntercepts(steps, told), told)
  if (kind === 'tool') return request
  return { value: policed(made, request.value), changed: request.changed || policy === 'changes' }
}

function throughIntercepts(steps: readonly Step[], told: Told): Rewritten {
  let value = 'a'
  for (const step of ordered(steps, 'request')) {
    const { does, name } = step
    if (does.endsWith('throws') || does === 'says nothing') {
      told.failedRequests += 1
      if (!isOpen(step)) throw new Ended(does === 'says nothing' ? 'code middleware/bad-return' : `own ${name}`)
      continue
    }
    if (does !== 'hands on') value += name
    if (step.breakChain) break
  }
  return { value, changed: value !== 'a' }
}

function throughRewriters(steps: readonly Step[], given: Rewritten, told: Told): Rewritten {
  let { value, changed } = given
  for (const step of ordered(steps, 'hermes request')) {
    const { does, name } = step
    if (does === 'changes') value += name
    if (does === 'changes' || does === 'says the same') changed = true
    if (does !== 'throws' && does !== 'refuses') continue
    told.failedRequests += 1
    if (does === 'refuses') throw new Ended(`refused ${name}`)
    if (!isOpen(step)) throw new Ended(`own ${name}`)
  }
  return { value, changed }
}

function policed({ policy }: Case, value: string): string {
  if (policy === 'throws') throw new Ended('own policy')
  return policy === 'changes' ? `${value}P` : value
}

function createInner({ kind, steps, end }: Case) {
  const around = [...ordered(steps, 'execution'), ...ordered(steps, 'hermes execution')]
  const streams = ordered(steps, 'stream')
  const runs: string[] = []
  const chunks: string[] = []

  const frame = (depth: number, request: string): Outcome => {
    const step = around[depth]
    if (step === undefined) return kind === 'tool' ? tool(request) : model(request)
    return wrapped(step, request, (given) => frame(depth + 1, given))
  }
  const tool = (request: string): Outcome => {
    runs.push(request)
    return end === 'throws' ? { error: `tool ${request}` } : { value: `tool ${request}` }
  }
  const model = (request: string): Outcome => {
    const got = stream(0, request)
    chunks.push(...got.chunks)
    return got.error === undefined ? { value: got.chunks.join(' ') } : { error: got.error }
  }
  const stream = (depth: number, request: string): Chunks => {
    const step = streams[depth]
    if (step !== undefined) return streamed(step, request, (given) => stream(depth + 1, given))
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

function streamed(step: Step, request: string, rest: (request: string) => Chunks): Chunks {
  const { does, name } = step
  if (does === 'answers itself') return { chunks: [`own ${name}`], error: undefined }
  const broken = { chunks: [], error: `own ${name}` }
  if (does === 'throws first') return isOpen(step) ? rest(request) : broken
  const got = rest(does === 'changes the request' ? request + name : request)
  const { chunks, error } = got
  if (does === 'changes chunks') return { chunks: chunks.map((chunk) => chunk + name), error }
  if (does === 'stops after one' && chunks.length > 0) return { chunks: chunks.slice(0, 1), error: undefined }
  if (!does.endsWith('throws') || (chunks.length === 0 && error !== undefined)) return got
  // A chunk that was yielded cannot be taken back. Before the first chunk the stream continues without the step.
  if (does === 'hands one on and throws' && chunks.length > 0) return { ...broken, chunks: chunks.slice(0, 1) }
  return isOpen(step) ? got : broken
}

function wrapped(step: Step, request: string, rest: (request: string) => Outcome): Outcome {
  const { does, name, point } = step
  const isHermes = point === 'hermes execution'
  const own: Outcome = { error: `own ${name}` }
  if (does === 'answers itself') return { value: `own ${name}` }
  if (does === 'throws first') return isOpen(step) ? rest(request) : own
  if (does === 'refuses first') return { error: `refused ${name}` }
  if (does === 'does not wait') {
    const unawaited = rest(request)
    // NeMo aborts the rest of the chain and uses the value of the wrapper. Hermes waits for the rest.
    return isHermes ? unawaited : { value: `own ${name}` }
  }
  if (does === 'calls twice at once') return twiceAtOnce(step, request, rest)
  const got = rest(does === 'changes the request' ? request + name : request)
  if ('error' in got) return afterFailure(step, got)
  if (does === 'changes the result') return { value: `${got.value} ${name}` }
  if (does === 'says null') return { value: null }
  if (does === 'says nothing') return isHermes ? got : { value: undefined }
  if (does === 'throws last') return isOpen(step) ? got : own
  if (does === 'refuses last') return { error: `refused ${name}` }
  if (does !== 'calls twice') return got
  const second: Outcome = isHermes ? calledTwice : rest(request)
  return 'error' in second && isOpen(step) ? got : second
}

const calledTwice: Outcome = { error: 'code middleware/next-called-twice' }

/** Waits for both and fails with the first of the two failures. */
function twiceAtOnce(step: Step, request: string, rest: (request: string) => Outcome): Outcome {
  const first = rest(`${request}${step.name}1`)
  const second = step.point === 'hermes execution' ? calledTwice : rest(`${request}${step.name}2`)
  if ('value' in first && 'value' in second) return { value: `${first.value} and ${second.value}` }
  const good = 'value' in first ? first : second
  if (isOpen(step) && 'value' in good) return good
  return 'error' in first ? first : second
}

function afterFailure({ does, name, point }: Step, got: Outcome): Outcome {
  if (does === 'catches and answers') return { value: `caught ${name}` }
  if (does === 'catches and throws') return { error: `own ${name}` }
  // A failure of the rest never becomes a success without a value.
  if (point === 'hermes execution') return got
  if (does === 'catches and says nothing') return { value: undefined }
  return does === 'catches and says null' ? { value: null } : got
}
