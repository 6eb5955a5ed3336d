/**
 * What becomes of a row after a try. Pure: the same attempt at the same time always gives the same answer.
 */
import { backoffMs } from '../lib/timers.ts'
import type { DeliveryAttempt } from './attempt-delivery.ts'
import type { DeliveryResult, OutboxRow } from './queries.ts'
import { retryAt } from './retry-after.ts'
import { formatUnsentLine, parseAttachment } from './stored-attachment.ts'

export interface RetryPolicy {
  readonly maxTries: number
  readonly maxBackoffMs: number
  readonly random: () => number
}

/** The pause before the second try, doubled with each further one. */
const baseBackoffMs = 1_000

export function toDeliveryResult(
  row: OutboxRow,
  attempt: DeliveryAttempt,
  now: number,
  rules: RetryPolicy,
): DeliveryResult {
  const { result, maybeSent } = attempt
  const base = { ...unchangedFields(row), doubt: maybeSent ? 1 : 0 }
  if (result.success) {
    return { ...base, state: 'sent', doubt: 0, platform_id: result.messageId ?? row.target, error: null }
  }
  const waiting = { ...base, state: maybeSent ? ('unknown' as const) : ('queued' as const), error: result.error }
  switch (result.problem) {
    case 'rate-limited':
      // Not a try: the platform has only asked for patience.
      return { ...waiting, due_at: retryAt(result.retryAfterMs, now) }
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
        const replacementText = formatUnsentLine(
          parseAttachment(row.attachment),
          attempt.attachmentFailure ?? 'the platform refused it',
        )
        return { ...waiting, state: 'sending', due_at: now, replacementText }
      }
      // The draft is gone: the same row is sent as a message of its own, and says so on disk before it is.
      if (row.op === 'edit') return { ...waiting, state: 'sending', op: 'send', target: null }
      return { ...waiting, state: 'dead', tries: row.tries + 1 }
  }
}

/** Back in line, untried, because the platform went away between the claim and the call. */
export function toUnclaimedResult(row: OutboxRow): DeliveryResult {
  return { ...unchangedFields(row), state: row.doubt === 1 ? 'unknown' : 'queued', doubt: row.doubt, error: null }
}

function unchangedFields({ id, op, target, tries, due_at }: OutboxRow) {
  return { id, op, target, tries, due_at, platform_id: null }
}
