/**
 * The queue of a conversation, as its turns see it: what happens to a message whose turn cannot begin yet. What waits is stored, so a restart changes nothing.
 */
import type { Engine } from '../../engine/engine.ts'
import { recordFailedAttempt } from '../../inbox/attempts.ts'
import { isTransientError, messageOf } from '../../lib/errors.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { Store } from '../../store/store.ts'
import type { PrepareMessage } from './attachments.ts'
import type { PostponedTurn } from './claim.ts'
import type { TurnNotices } from './turn-notices.ts'

export interface TurnQueueDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'wakeLater' | 'yieldTurn'>
  readonly notices: Pick<TurnNotices, 'postponed'>
  readonly prepare: PrepareMessage
  readonly announcePause: TurnQueue['announcePause']
  readonly stopping: AbortSignal
  readonly clock: () => number
}

export interface TurnQueue {
  /** Tells the people of a conversation that the agent is paused. */
  announcePause(key: SessionKey): Promise<void>
  /** Continues a turn later. Rejects `store/...`. */
  postpone(key: SessionKey, turn: PostponedTurn): Promise<void>
  /** Completes a message that cannot be claimed yet. */
  readonly prepare: PrepareMessage
  /** Whether other conversations must be served before the next turn of this one. */
  readonly yieldTurn: Engine['yieldTurn']
  /** The gateway stops: running turns may end, queued messages wait for the next start. */
  readonly stopping: AbortSignal
  /** Stores why an attempt failed, and counts it unless the cause is outside of the turn. */
  recordFailure(seq: number, error: unknown): Promise<void>
}

export function createTurnQueue(deps: TurnQueueDeps): TurnQueue {
  const { store, engine, notices, prepare, stopping, clock } = deps
  return {
    announcePause: deps.announcePause,
    async postpone(key, { turnId, event, until, isAnnounced }) {
      engine.wakeLater(key, 'turn', Math.max(0, until - clock()))
      // The notice of an outage was sent when it began.
      if (!isAnnounced) await notices.postponed(event, turnId, until)
    },
    prepare,
    yieldTurn: engine.yieldTurn,
    stopping,
    recordFailure: (seq, error) =>
      store.run(() => recordFailedAttempt(seq, messageOf(error), !isTransientError(error))),
  }
}
