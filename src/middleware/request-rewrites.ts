/**
 * Request rewrites: NeMo's request intercepts, then Hermes' request middleware.
 */
import { HermesError } from '../lib/errors.ts'
import { isRecord } from '../lib/json.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, PendingMark, RewriteResult, RewriteTraceEntry, RewrittenRequest } from './contract.ts'
import { deepCopy, deepEqual } from './copy.ts'
import { describeOrigin } from './failures.ts'
import { GuardrailRejected } from './guardrail-rejected.ts'
import { isThenable } from './promises.ts'
import type { Entries, Entry } from './registry.ts'

/** How one kind of request intercept is called, and what it returns is read. */
interface RequestInterceptSpec<View, Answer> {
  /** `tool_request` or `model_request`. */
  readonly point: string
  view(value: Fields): View
  /** Throws when the answer is none. */
  parse(answer: Answer, entry: Entry<unknown>): Fields
}

/** Returns the very value it got when nothing was changed. Rejects as the first that fails closed does. */
export async function runRequestIntercepts<View, Answer>(
  run: CallRun,
  entries: Entries<(view: View) => Awaitable<Answer>>,
  given: Fields,
  { point, view, parse: read }: RequestInterceptSpec<View, Answer>,
): Promise<Fields> {
  let value = deepCopy(given)
  let replaced = false
  for (const entry of entries) {
    // What an open one changes before it fails must not stay.
    const own = entry.failsOpen ? deepCopy(value) : value
    try {
      const returned = entry.callback(view(own))
      const next = read(isThenable(returned) ? await returned : returned, entry)
      if (next !== own) {
        replaced = true
        run.recordRewrite({ source: entry.plugin ?? entry.name, name: entry.name })
      }
      value = next
    } catch (error) {
      run.context.errorOrigins.record(error, entry)
      run.publishRequestFailure(point, entry, error)
      if (!entry.failsOpen) throw error
      run.throwIfAborted(error)
      run.context.failures.report(entry, point, error, 'the call continues without it')
      continue
    }
    if (entry.breakChain) break
  }
  if (replaced) return value
  if (deepEqual(value, given)) return given
  // Changed in place: who did it cannot be told.
  run.recordRewrite({ source: 'plugin' })
  return value
}

export function parseArgs(answer: Fields, entry: Entry<unknown>): Fields {
  if (isRecord(answer)) return answer
  throw badReturnError(entry, 'the arguments')
}

/** Collects the marks that the intercepts want to follow the start event. */
export function createRequestParser(marks: PendingMark[]): (answer: RewrittenRequest, entry: Entry<unknown>) => Fields {
  return (answer, entry) => {
    const found: unknown = answer
    if (!isRecord(found) || !isRecord(found['request'])) throw badReturnError(entry, 'an object with the request')
    const { request, pendingMarks = [] } = answer
    if (!Array.isArray(pendingMarks)) throw badReturnError(entry, 'a list of marks')
    const own = pendingMarks.map((mark: unknown) => parseMark(mark, entry))
    for (const mark of own) marks.push(mark)
    return request
  }
}

/** Read here, where a failure is the intercept's. */
function parseMark(mark: unknown, entry: Entry<unknown>): PendingMark {
  const { name, data, metadata }: Fields = isRecord(mark) ? mark : {}
  if (typeof name !== 'string') throw badReturnError(entry, 'marks with a name')
  return { name, data, ...(isRecord(metadata) ? { metadata } : {}) }
}

function badReturnError(entry: Entry<unknown>, wanted: string): HermesError {
  return new HermesError(
    'middleware/bad-return',
    `The request intercept ${describeOrigin(entry)} did not return ${wanted}.`,
  )
}

export interface RequestMiddlewareSpec<Payload> {
  /** Where the new value is in what a callback returns, and the end of the kind's name. */
  readonly key: 'args' | 'request'
  readonly kind: 'tool_request' | 'llm_request'
  payload(value: Fields): Payload
}

/** Returns the very value it got when nobody changed it. Rejects only as those reject that fail closed. */
export async function runRequestMiddleware<Payload>(
  run: CallRun,
  entries: Entries<(payload: Payload) => Awaitable<RewriteResult | null | undefined>>,
  given: Fields,
  { key, kind, payload }: RequestMiddlewareSpec<Payload>,
): Promise<Fields> {
  let value = given
  for (const entry of entries) {
    try {
      const returned = entry.callback(payload(deepCopy(value)))
      const result: unknown = isThenable(returned) ? await returned : returned
      if (!isRecord(result)) continue
      const next = result[key]
      if (!isRecord(next)) continue
      const entryOfTrace = traceEntry(result)
      value = next
      run.recordRewrite(entryOfTrace)
    } catch (error) {
      run.context.errorOrigins.record(error, entry)
      run.publishRequestFailure(kind, entry, error)
      if (!entry.failsOpen || error instanceof GuardrailRejected) throw error
      run.throwIfAborted(error)
      run.context.failures.report(entry, kind, error, 'the call continues without it')
    }
  }
  return value
}

/** What the callback says of itself; upstream's word where it says nothing. */
function traceEntry(result: Fields): Partial<RewriteTraceEntry> {
  const said = (['source', 'reason', 'name'] as const).flatMap((key) => {
    const text = result[key]
    return typeof text === 'string' && text !== '' ? [[key, text]] : []
  })
  return said.length === 0 ? { source: 'plugin' } : Object.fromEntries(said)
}
