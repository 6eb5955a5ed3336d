/**
 * Hermes' request kinds (`contract/hermes.md` §2.8). Each callback gets its own copy of the value and returns what takes
 * its place; each sees the one before it, where upstream lets the last one win. What it does to its copy changes nothing.
 */

import { isRecord } from '../lib/record.ts'
import { isPending } from './awaiting.ts'
import type { CallRun } from './call-run.ts'
import type { Awaitable, Fields, RewriteResult, TraceEntry } from './contract.ts'
import { copyOf } from './copies.ts'
import type { Entries } from './registry.ts'
import { GuardrailRejected } from './rejected.ts'

export interface HermesDealing<Payload> {
  /** Where the new value is in what a callback returns, and the end of the kind's name. */
  readonly key: 'args' | 'request'
  readonly kind: 'tool_request' | 'llm_request'
  payload(value: Fields): Payload
}

/** Returns the very value it got when nobody changed it. Rejects only as those reject that fail closed. */
export async function passRewriters<Payload>(
  run: CallRun,
  entries: Entries<(payload: Payload) => Awaitable<RewriteResult | null | undefined>>,
  given: Fields,
  { key, kind, payload }: HermesDealing<Payload>,
): Promise<Fields> {
  let value = given
  for (const entry of entries) {
    try {
      const answer = entry.callback(payload(copyOf(value)))
      const result: unknown = isPending(answer) ? await answer : answer
      if (!isRecord(result)) continue
      const next = result[key]
      if (!isRecord(next)) continue
      const said = traceEntry(result)
      value = next
      run.rewrittenBy(said)
    } catch (error) {
      run.room.culprits.met(error, entry)
      run.tellFailedRequest(kind, entry, error)
      if (!entry.failsOpen || error instanceof GuardrailRejected) throw error
      run.throwIfAborted(error)
      run.room.failures.tell(entry, kind, error, 'the call goes on without it')
    }
  }
  return value
}

/** What the callback says of itself; upstream's word where it says nothing. */
function traceEntry(result: Fields): Partial<TraceEntry> {
  const said = (['source', 'reason', 'name'] as const).flatMap((key) => {
    const text = result[key]
    return typeof text === 'string' && text !== '' ? [[key, text]] : []
  })
  return said.length === 0 ? { source: 'plugin' } : Object.fromEntries(said)
}
