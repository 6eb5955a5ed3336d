/**
 * What becomes of a row after a try. Pure: the same attempt at the same time always gives the same answer.
 */
import { backoffMs } from '../lib/wait.ts'
import type { Attempt } from './attempt.ts'
import type { OutboxRow, Settlement } from './queries.ts'
import { limitEnd } from './rate-limit.ts'
import { notSentLine, readAttachment } from './stored-attachment.ts'

export interface RetryRules {
  readonly maxTries: number
  readonly maxBackoffMs: number
  readonly random: () => number
}

/** The pause before the second try, doubled with each further one. */
const baseBackoffMs = 1_000

export function settlementOf(row: OutboxRow, attempt: Attempt, now: number, rules: RetryRules): Settlement {
  const { result, doubt } = attempt
  const base = { ...restOf(row), doubt: doubt ? 1 : 0 }
  if (result.success) {
    return { ...base, state: 'sent', doubt: 0, platform_id: result.messageId ?? row.target, error: null }
  }
  const waiting = { ...base, state: doubt ? ('unknown' as const) : ('queued' as const), error: result.error }
  switch (result.problem) {
    case 'rate-limited':
      // Not a try: the platform has only asked for patience.
      return { ...waiting, due_at: limitEnd(result.retryAfterMs, now) }
    case 'unauthorised':
      return { ...waiting, due_at: now }
    case 'temporary': {
      const tries = row.tries + 1
      if (tries >= rules.maxTries) return { ...waiting, state: 'dead', tries }
      return { ...waiting, tries, due_at: now + backoffMs(tries, baseBackoffMs, rules.maxBackoffMs, rules.random) }
    }
    case 'rejected':
      // The file does not go out: the same row tells so, and says so on disk before it does.
      if (row.attachment !== null) {
        const instead = notSentLine(readAttachment(row.attachment), attempt.refusal ?? 'the platform refused it')
        return { ...waiting, state: 'sending', due_at: now, instead }
      }
      // The draft is gone: the same row is sent as a message of its own, and says so on disk before it is.
      if (row.op === 'edit') return { ...waiting, state: 'sending', op: 'send', target: null }
      return { ...waiting, state: 'dead', tries: row.tries + 1 }
  }
}

/** Back in line, untried, because the platform went away between the claim and the call. */
export function releaseOf(row: OutboxRow): Settlement {
  return { ...restOf(row), state: row.doubt === 1 ? 'unknown' : 'queued', doubt: row.doubt, error: null }
}

function restOf({ id, op, target, tries, due_at }: OutboxRow) {
  return { id, op, target, tries, due_at, platform_id: null }
}
