/**
 * Continues a turn later that must not run yet. What waits is stored, so a restart changes nothing.
 */
import type { Engine } from '../../engine/engine.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { PostponedTurn } from './claim.ts'
import type { TurnNotices } from './turn-notices.ts'

export interface PostponementDeps {
  readonly engine: Pick<Engine, 'wakeLater'>
  readonly notices: Pick<TurnNotices, 'postponed'>
  readonly clock: () => number
}

/** Rejects `store/...`. */
export function createPostponement({ engine, notices, clock }: PostponementDeps) {
  return async (key: SessionKey, { turnId, event, until, isAnnounced }: PostponedTurn): Promise<void> => {
    engine.wakeLater(key, 'turn', Math.max(0, until - clock()))
    // The notice of an outage was sent when it began.
    if (!isAnnounced) await notices.postponed(event, turnId, until)
  }
}
