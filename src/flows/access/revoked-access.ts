/**
 * Ends what waits and runs for people whose access was taken away: their messages end without an answer, and the trace says
 * why. Loaded when the access rules change, and at a start that finds open messages.
 */
import { decideAccess, requesterOf } from '../../inbox/access.ts'
import { listOpenTurnEvents } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { addTraceEntry, type TraceSubject } from '../../inbox/trace.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import type { Transaction, TransactionPart } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { SessionServices } from '../sessions/session-services.ts'

type StopEvent = SessionServices['stopEvent']
type RevokedRuntime = Pick<Runtime, 'store' | 'clock' | 'log'>
type Accounts = readonly PlatformAccount[]

/**
 * Ends the messages and background tasks of people who have access by `before` and not by `after`. Without `before`, at a start,
 * those of people who have none. Rejects `store/…`.
 */
export async function endRevokedMessages(
  runtime: RevokedRuntime,
  stopEvent: StopEvent,
  after: Accounts,
  before?: Accounts,
): Promise<void> {
  for (const { seq, session_key, turn_id, payload } of await runtime.store.run(listOpenTurnEvents)) {
    const person = requesterOf(parseStoredEvent(payload))
    if (person === undefined || refusalIn(after, person) === undefined) continue
    if (before !== undefined && refusalIn(before, person) !== undefined) continue
    await endRevokedMessage(runtime, stopEvent, { session_key, turn_id }, seq)
  }
}

/** Ends one message of a person who has no access. Rejects `store/…`. */
export async function endRevokedMessage(
  { store, clock, log }: RevokedRuntime,
  stopEvent: StopEvent,
  subject: TraceSubject,
  seq: number,
): Promise<void> {
  await store.run(() => traceRevoked(subject, seq, clock()))
  await stopEvent(seq)
  log.info({ event: 'access.message_ended', seq }, 'a message of a person without access was ended')
}

function* traceRevoked(subject: TraceSubject, seq: number, now: number): Transaction<void> {
  const detail = `message ${seq} was ended: the access of its sender was taken away`
  yield* addTraceEntry(subject, 'access:revoked', detail, now)
}

/** The result of a command whose sender has no access any more: it does nothing, and says nothing. */
export function revokedCommandReply(session: SessionKey, seq: number): TransactionPart<string> {
  return {
    *write(now) {
      yield* traceRevoked({ session_key: session, turn_id: null }, seq, now)
      return ''
    },
  }
}

/** Undefined for a person with access, and for an account that is not configured, which says nothing about a person. */
function refusalIn(accounts: Accounts, source: SessionSource): string | undefined {
  const account = accounts.find(
    (candidate) => candidate.platform.name === source.platform && candidate.account === source.account,
  )
  if (account === undefined) return undefined
  const { allowed, reason } = decideAccess(source, {}, account.access)
  return allowed ? undefined : reason
}
