/**
 * Resumes at a start what the last process left: replies, turns, queued messages, background tasks.
 */
import type { Engine } from '../../engine/engine.ts'
import { assessCrash, closeAllAttempts, listSuspectSessions } from '../../inbox/attempts.ts'
import { listOpenQueues, listSessionsWithRefused } from '../../inbox/queries.ts'
import { brand } from '../../lib/ids.ts'
import type { Logger } from '../../lib/log.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { platformOf } from '../../sessions/session-key.ts'
import { sessionsWithOpenTurns } from '../../sessions/turns.ts'
import { query, row, type Transaction } from '../../store/query.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { Store } from '../../store/store.ts'
import type { BusyArrivals } from '../busy/arrivals.ts'

interface RecoveringGateway extends Pick<Runtime, 'store' | 'clock' | 'log' | 'failpoint'> {
  readonly mode: {
    /** Whether this process works on a platform: a terminal with its own gateway leaves the work of the others to the daemon. */
    serves(platform: string): boolean
  }
}

/** The queues that go on. */
interface RecoveredQueues {
  readonly outbox: Pick<Outbox, 'recover'>
  readonly engine: Pick<Engine, 'wake' | 'runOneAtATime'>
  /** Tells the senders of a conversation that the queue had no room. */
  busyArrivals(): Promise<Pick<BusyArrivals, 'announceRefused'>>
  /** Ends the messages of people who have lost their access meanwhile. */
  endRevoked(): Promise<void>
}

/**
 * Rejects `store/...`.
 * @param reportLostWork goes on with background tasks, and tells the conversations whose background commands were lost
 */
export async function recover(
  { mode, store, clock, log, failpoint }: RecoveringGateway,
  { outbox, engine, busyArrivals, endRevoked }: RecoveredQueues,
  reportLostWork: () => Promise<void>,
): Promise<void> {
  failpoint?.('recovery:begun')
  await outbox.recover()
  const isOwn = (key: string) => mode.serves(platformOf(key))
  const now = clock()
  const attempts = await store.run(() => assessCrash(isOwn, now))
  if (attempts > 0) log.warn({ event: 'recovery.crash_found', attempts }, 'the last process ended unexpectedly')
  const queues = await store.run(listOpenQueues)
  if (queues.length > 0) await endRevoked()
  // These sessions run before the others, one at a time: if one of them crashes the gateway again, it is known which.
  const suspects = (await store.run(listSuspectSessions)).filter(isOwn).map((key) => brand<SessionKey>(key))
  engine.runOneAtATime(suspects)
  for (const key of suspects) engine.wake(key, 'turn')
  const interrupted = await store.run(sessionsWithOpenTurns)
  for (const { session_key, lane } of queues) if (isOwn(session_key)) engine.wake(brand<SessionKey>(session_key), lane)
  for (const key of interrupted) if (isOwn(key)) engine.wake(brand<SessionKey>(key), 'turn')
  for (const key of await store.run(listSessionsWithRefused))
    if (isOwn(key)) await (await busyArrivals()).announceRefused(brand<SessionKey>(key))
  await reportLostWork()
  failpoint?.('recovery:done')
}

const selectRequest = query((db, _: Record<never, never>) => db.selectFrom('restart_requests').select('id').limit(1))

/** Whether the last process was asked to restart. */
export function* hasRestartRequest(): Transaction<boolean> {
  return (yield* row(selectRequest, {})) !== undefined
}

/** An orderly stop begins: what it interrupts counts as no attempt. Without a writable database, the stop continues. */
export async function closeAttempts(store: Store, log: Logger): Promise<void> {
  try {
    await store.run(closeAllAttempts)
  } catch (error) {
    log.warn({ event: 'recovery.attempts_not_closed', err: error }, 'interrupted turns will count as failed attempts')
  }
}
