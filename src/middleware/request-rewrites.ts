/**
 * Request rewrites: NeMo's request intercepts, then Hermes' request middleware.
 */
import { HermesError } from '../lib/errors.ts'
import { isRecord } from '../lib/json.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, PendingMark, RewriteResult, RewriteTraceEntry, RewrittenRequest } from './contract.ts'
import { deepCopy, deepEqual } from './copy.ts'
import { describeOrigin } from './failures.ts'
import { isGuardrailRejected } from './guardrail-rejected.ts'
import { isThenable } from './promises.ts'
import type { Entries, Entry } from './registry.ts'
import type { Snapshot } from './snapshot.ts'

/** How intercepts of one point are called and how their return value is read. */
interface RequestInterceptSpec<View, Returned> {
  /** `tool_request` or `model_request`. */
  readonly point: string
  view(value: Fields): View
  /** Throws for an invalid return value. */
  parse(returned: Returned, entry: Entry<unknown>): Fields
}

/**
 * Runs NeMo's request intercepts (`contract/middleware.md` §1.5): each returns the value that replaces its input. The first
 * receives a copy. Returns the original object when nothing changed. Rejects like the first intercept that fails closed.
 */
async function runRequestIntercepts<View, Returned>(
  run: CallRun,
  entries: Entries<(view: View) => Awaitable<Returned>>,
  original: Fields,
  { point, view, parse }: RequestInterceptSpec<View, Returned>,
): Promise<Fields> {
  let value = deepCopy(original)
  let replaced = false
  for (const entry of entries) {
    // Changes by an intercept that fails open must be discarded.
    const copy = entry.failsOpen ? deepCopy(value) : value
    try {
      const returned = entry.callback(view(copy))
      const next = parse(isThenable(returned) ? await returned : returned, entry)
      if (next !== copy) {
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
  if (deepEqual(value, original)) return original
  // Changed in place, so the intercept that did it is unknown.
  run.recordRewrite({ source: 'plugin' })
  return value
}

export function parseArgs(returned: Fields, entry: Entry<unknown>): Fields {
  if (isRecord(returned)) return returned
  throw badReturnError(entry, 'the arguments')
}

/** The parser also collects `pendingMarks`, which are published after the start event. */
export function createRequestParser(
  marks: PendingMark[],
): (returned: RewrittenRequest, entry: Entry<unknown>) => Fields {
  return (returned, entry) => {
    const result: unknown = returned
    if (!isRecord(result) || !isRecord(result['request'])) throw badReturnError(entry, 'an object with the request')
    const { request, pendingMarks = [] } = returned
    if (!Array.isArray(pendingMarks)) throw badReturnError(entry, 'a list of marks')
    const parsed = pendingMarks.map((mark: unknown) => parseMark(mark, entry))
    for (const mark of parsed) marks.push(mark)
    return request
  }
}

/** Validates marks here, so that an invalid one counts as a failure of its intercept. */
function parseMark(mark: unknown, entry: Entry<unknown>): PendingMark {
  const { name, data, metadata }: Fields = isRecord(mark) ? mark : {}
  if (typeof name !== 'string') throw badReturnError(entry, 'marks with a name')
  return { name, data, ...(isRecord(metadata) ? { metadata } : {}) }
}

function badReturnError(entry: Entry<unknown>, expected: string): HermesError {
  return new HermesError(
    'middleware/bad-return',
    `The request intercept ${describeOrigin(entry)} did not return ${expected}.`,
  )
}

interface RequestMiddlewareSpec<Payload> {
  /** The key of the replacement in the return value. */
  readonly key: 'args' | 'request'
  readonly kind: 'tool_request' | 'llm_request'
  payload(value: Fields): Payload
}

/**
 * Runs Hermes' request middleware (`contract/hermes.md` §2.8): each callback receives a copy of the previous value and may
 * return a replacement. In Hermes all callbacks receive the same value and the last replacement wins. Returns the original
 * object when nothing changed. Rejects only for callbacks that fail closed.
 */
async function runRequestMiddleware<Payload>(
  run: CallRun,
  entries: Entries<(payload: Payload) => Awaitable<RewriteResult | null | undefined>>,
  original: Fields,
  { key, kind, payload }: RequestMiddlewareSpec<Payload>,
): Promise<Fields> {
  let value = original
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
      if (!entry.failsOpen || isGuardrailRejected(error)) throw error
      run.throwIfAborted(error)
      run.context.failures.report(entry, kind, error, 'the call continues without it')
    }
  }
  return value
}

/** Both, one after the other. Returns the original object when nothing changed. */
export async function rewriteRequest<View, Returned, Payload>(
  run: CallRun,
  original: Fields,
  spec: RequestInterceptSpec<View, Returned> &
    RequestMiddlewareSpec<Payload> & {
      intercepts(snapshot: Snapshot): Entries<(view: View) => Awaitable<Returned>>
      rewriters(snapshot: Snapshot): Entries<(payload: Payload) => Awaitable<RewriteResult | null | undefined>>
    },
): Promise<Fields> {
  const { scope } = run
  const intercepts = spec.intercepts(scope.snapshot)
  const value = intercepts.length === 0 ? original : await runRequestIntercepts(run, intercepts, original, spec)
  const rewriters = spec.rewriters(scope.snapshot)
  return rewriters.length === 0 ? value : await runRequestMiddleware(run, rewriters, value, spec)
}

/** Trace fields from the return value; `plugin`, as in Hermes, when there are none. */
function traceEntry(result: Fields): Partial<RewriteTraceEntry> {
  const named = (['source', 'reason', 'name'] as const).flatMap((key) => {
    const text = result[key]
    return typeof text === 'string' && text !== '' ? [[key, text]] : []
  })
  return named.length === 0 ? { source: 'plugin' } : Object.fromEntries(named)
}
