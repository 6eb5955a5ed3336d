/**
 * Hermes' request kinds (`contract/hermes.md` §2.8). Each callback gets its own copy of the value and returns what takes
 * its place; each sees the one before it, where upstream lets the last one win. What it does to its copy changes nothing.
 */

import { isRecord } from '../lib/json.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, RewriteResult, RewriteTraceEntry } from './contract.ts'
import { deepCopy } from './copy.ts'
import { GuardrailRejected } from './guardrail-rejected.ts'
import { isThenable } from './promises.ts'
import type { Entries } from './registry.ts'

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
      run.context.failures.report(entry, kind, error, 'the call goes on without it')
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
