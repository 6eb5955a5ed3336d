/**
 * Pauses the agent: messages are accepted and wait, running turns stop at their next step, commands go on. Loaded with the
 * first pause.
 */
import type { Engine } from '../../engine/engine.ts'
import { findQueueHead, listOpenQueues } from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { brand } from '../../lib/ids.ts'
import type { SessionKey } from '../../message/ids.ts'
import { writePause } from '../../sessions/pause-file.ts'
import type { RunningTurns } from '../../sessions/running-turns.ts'
import { sessionsWithOpenTurns } from '../../sessions/turns.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { Store } from '../../store/store.ts'
import type { TurnNotices } from '../turn/turn-notices.ts'

export interface PausedTurns {
  readonly engine: Pick<Engine, 'wake'>
  readonly runningTurns: Pick<RunningTurns, 'paused' | 'setPaused'>
  readonly turnNotices: Pick<TurnNotices, 'paused'>
}

const maxReasonChars = 500

/** Pauses the agent, or changes the reason of its pause. Throws the system's error when the pause cannot be stored. */
export function pauseAgent(
  { home, clock, log }: Pick<Runtime, 'home' | 'clock' | 'log'>,
  runningTurns: PausedTurns['runningTurns'],
  reason: string,
): void {
  const since = runningTurns.paused()?.since ?? clock()
  const pause = { since, reason: reason.slice(0, maxReasonChars).toWellFormed() }
  // In effect at once, also if the disk is full.
  runningTurns.setPaused(pause)
  log.warn({ event: 'gateway.paused', reason: pause.reason }, 'the agent is paused')
  writePause(home.pauseFile, pause)
}

/** Ends the pause: everything that waited goes on. Resolves with false if there was none. */
export async function resumeAgent(
  { home, store, log }: Pick<Runtime, 'home' | 'store' | 'log'>,
  { engine, runningTurns }: PausedTurns,
): Promise<boolean> {
  writePause(home.pauseFile, null)
  if (runningTurns.paused() === null) return false
  runningTurns.setPaused(null)
  log.info({ event: 'gateway.resumed' }, 'the agent goes on')
  const waiting = await store.run(function* () {
    const queued = (yield* listOpenQueues()).flatMap(({ lane, session_key }) => (lane === 'turn' ? [session_key] : []))
    return new Set([...queued, ...(yield* sessionsWithOpenTurns())])
  })
  for (const key of waiting) engine.wake(brand<SessionKey>(key), 'turn')
  return true
}

/** Tells the people of a conversation, once in a pause, that their message waits. Rejects `store/…`. */
export async function announcePause(
  store: Store,
  { runningTurns, turnNotices }: PausedTurns,
  key: SessionKey,
): Promise<void> {
  const pause = runningTurns.paused()
  const head = pause === null ? undefined : await store.run(() => findQueueHead(key, 'turn'))
  if (pause === null || head === undefined) return
  await turnNotices.paused(parseStoredEvent(head.payload), `pause:${pause.since}:${key}`, pause.reason)
}
