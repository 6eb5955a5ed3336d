/**
 * NeMo request intercepts: each returns the whole value that takes the place of the one it got
 * (`contract/middleware.md` §1.5). The caller's own value is not touched: the first one gets a copy of it.
 */
import { HermesError } from '../lib/errors.ts'
import { isRecord } from '../lib/record.ts'
import { isPending } from './awaiting.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, PendingMark, RewrittenRequest } from './contract.ts'
import { copyOf, sameData } from './copies.ts'
import { nameOf } from './failures.ts'
import type { Entries, Entry } from './registry.ts'

/** How one kind of request intercept is called, and what it returns is read. */
interface Dealing<View, Answer> {
  /** `tool_request` or `model_request`. */
  readonly point: string
  view(value: Fields): View
  /** Throws when the answer is none. */
  read(answer: Answer, entry: Entry<unknown>): Fields
}

/** Returns the very value it got when nothing was changed. Rejects as the first that fails closed does. */
export async function passIntercepts<View, Answer>(
  run: CallRun,
  entries: Entries<(view: View) => Awaitable<Answer>>,
  given: Fields,
  { point, view, read }: Dealing<View, Answer>,
): Promise<Fields> {
  let value = copyOf(given)
  let replaced = false
  for (const entry of entries) {
    // What an open one changes before it fails must not stay.
    const own = entry.failsOpen ? copyOf(value) : value
    try {
      const answer = entry.callback(view(own))
      const next = read(isPending(answer) ? await answer : answer, entry)
      if (next !== own) {
        replaced = true
        run.rewrittenBy({ source: entry.plugin ?? entry.name, name: entry.name })
      }
      value = next
    } catch (error) {
      run.room.culprits.met(error, entry)
      run.tellFailedRequest(point, entry, error)
      if (!entry.failsOpen) throw error
      run.throwIfAborted(error)
      run.room.failures.tell(entry, point, error, 'the call goes on without it')
      continue
    }
    if (entry.breakChain) break
  }
  if (replaced) return value
  if (sameData(value, given)) return given
  // Changed in place: who did it cannot be told.
  run.rewrittenBy({ source: 'plugin' })
  return value
}

export function readArgs(answer: Fields, entry: Entry<unknown>): Fields {
  if (isRecord(answer)) return answer
  throw badReturn(entry, 'the arguments')
}

/** Collects the marks that the intercepts want to follow the start event. */
export function readRequests(marks: PendingMark[]): (answer: RewrittenRequest, entry: Entry<unknown>) => Fields {
  return (answer, entry) => {
    const found: unknown = answer
    if (!isRecord(found) || !isRecord(found['request'])) throw badReturn(entry, 'an object with the request')
    const { request, pendingMarks = [] } = answer
    if (!Array.isArray(pendingMarks)) throw badReturn(entry, 'a list of marks')
    const own = pendingMarks.map((mark: unknown) => checkedMark(mark, entry))
    for (const mark of own) marks.push(mark)
    return request
  }
}

/** Read here, where a failure is the intercept's. */
function checkedMark(mark: unknown, entry: Entry<unknown>): PendingMark {
  const { name, data, metadata }: Fields = isRecord(mark) ? mark : {}
  if (typeof name !== 'string') throw badReturn(entry, 'marks with a name')
  return { name, data, ...(isRecord(metadata) ? { metadata } : {}) }
}

function badReturn(entry: Entry<unknown>, wanted: string): HermesError {
  return new HermesError('middleware/bad-return', `The request intercept ${nameOf(entry)} did not return ${wanted}.`)
}
