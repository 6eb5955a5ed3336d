/**
 * Resumes at a start what the last process left: replies, turns, queued messages, background tasks.
 */
import type { Engine } from '../engine/engine.ts'
import { listOpenQueues } from '../inbox/queries.ts'
import { brand } from '../lib/ids.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { platformOf } from '../sessions/session-key.ts'
import { sessionsWithOpenTurns } from '../sessions/turns.ts'
import type { Store } from '../store/store.ts'
import type { BackgroundTasks } from './background-tasks.ts'

export interface RecoveryDeps {
  readonly store: Store
  readonly outbox: Pick<Outbox, 'recover'>
  readonly engine: Pick<Engine, 'wake'>
  readonly backgroundTasks: Pick<BackgroundTasks, 'recover'>
  /** Only these platforms: a terminal with its own gateway leaves the work of the others to the daemon. */
  readonly onlyPlatforms: readonly string[] | undefined
  failpoint(point: string): void
}

/** Rejects `store/…`. */
export async function recover(deps: RecoveryDeps): Promise<void> {
  const { store, engine, onlyPlatforms } = deps
  deps.failpoint('recovery:begun')
  await deps.outbox.recover()
  const queues = await store.run(listOpenQueues)
  const interrupted = await store.run(sessionsWithOpenTurns)
  const isOwn = (key: string) => onlyPlatforms === undefined || onlyPlatforms.includes(platformOf(key))
  for (const { session_key, lane } of queues) if (isOwn(session_key)) engine.wake(brand<SessionKey>(session_key), lane)
  for (const key of interrupted) if (isOwn(key)) engine.wake(brand<SessionKey>(key), 'turn')
  if (onlyPlatforms === undefined) await deps.backgroundTasks.recover()
  deps.failpoint('recovery:done')
}
