/**
 * The turn in which a tool asks.
 */
import { parseStoredEvent } from '../inbox/stored-event.ts'
import { brand } from '../lib/ids.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { findOpenTurn, sessionKeyOfOpenTurn } from '../sessions/turns.ts'
import type { Transaction } from '../store/query.ts'

export interface OpenTurn {
  readonly event: MessageEvent
  readonly sessionKey: SessionKey
}

/** The event and the session of an open turn; undefined outside of sessions. */
export function* openTurnOf(turnId: string): Transaction<OpenTurn | undefined> {
  const key = yield* sessionKeyOfOpenTurn(turnId)
  const open = key === undefined ? undefined : yield* findOpenTurn(key)
  if (key === undefined || open?.id !== turnId) return undefined
  return { event: parseStoredEvent(open.payload), sessionKey: brand<SessionKey>(key) }
}
