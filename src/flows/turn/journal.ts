/**
 * The durable side of a turn: what is on disk at each of its moments (design, "Durability").
 * Each function here is one transaction, composed from the queries of the rooms it touches.
 */

import type { Journal } from '../../agent/loop/journal.ts'
import { hashToolCall } from '../../agent/loop/tool-batch.ts'
import { attachFiles } from '../../inbox/apply-change.ts'
import { isHermesError } from '../../lib/errors.ts'
import { sessionIdAt, uuid7 } from '../../lib/ids.ts'
import type { Attachment } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { AssistantMessage, ToolCall, Usage } from '../../message/transcript.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import { checkFence } from '../../sessions/session-state.ts'
import { appendMessage } from '../../sessions/transcript.ts'
import { startToolCall, storeLateResult, wasEffectStarted } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'
import { type AwaitingAttachments, type Claim, type ClaimRules, claimNextTurn, type Turn } from './claim.ts'
import { finishTurn, type TurnCompletion } from './finish.ts'
import { createMessageOrdinals } from './message-ordinals.ts'
import { storeToolResult } from './tool-results.ts'

export type { AwaitingAttachments, Claim, Turn } from './claim.ts'
export type { TurnCompletion } from './finish.ts'

export interface TurnJournalDeps extends ClaimRules {
  readonly store: Store
  readonly clock: () => number
}

export interface TurnJournal {
  /** Takes the turn that was cut off, else the oldest message of the lane; null when there is none. */
  claim(key: SessionKey): Promise<Claim | AwaitingAttachments | null>
  /** Keeps where the files of a message lie, or why there are none; for one that does not wait any more, nothing. */
  storeAttachments(seq: number, files: readonly Attachment[]): Promise<void>
  /** What the agent loop writes while it works. */
  journalOf(turn: Turn): Journal & { readonly nextOrd: () => number }
  /** Ends the turn: transcript, outbox rows and inbox in one transaction. Rejects `store/fenced` when overtaken. */
  finish(turn: Turn, end: TurnCompletion): Promise<TurnResult>
}

export function createTurnJournal(deps: TurnJournalDeps): TurnJournal {
  const { store, clock } = deps
  return {
    claim(key) {
      const now = clock()
      const ids = { turn: uuid7(now), session: sessionIdAt(now) }
      return store.run(() => claimNextTurn(deps, key, ids, now))
    },

    storeAttachments: (seq, files) => store.run(() => attachFiles(seq, files)),

    journalOf(turn) {
      const ordinals = createMessageOrdinals(turn)
      return {
        nextOrd: ordinals.next,
        recordAssistantMessage: (message, usage) =>
          store.run(() => appendAssistantMessage(turn, ordinals.answer(message), message, usage, clock())),
        wasStarted: (call) => store.run(() => wasEffectStarted(turn.id, call.id)),
        recordToolStart(call, mode) {
          const started = { turnId: turn.id, callId: call.id, name: call.name, argsHash: hashToolCall(call), mode }
          const now = clock()
          return store.run(function* () {
            yield* checkFence(turn.fence)
            return yield* startToolCall(started, now)
          })
        },
        async recordToolResult(call, result, how) {
          try {
            await store.run(() => appendToolResult(turn, ordinals.of(call), call, result, how, clock()))
          } catch (error) {
            if (isHermesError(error, 'store/fenced'))
              await store.run(() => storeLateResult(turn.id, call.id, result, clock()))
            throw error
          }
        },
      }
    },

    finish: (turn, end) => store.run(() => finishTurn(turn, end, clock())),
  }
}

function* appendAssistantMessage(
  turn: Turn,
  ord: number,
  message: AssistantMessage,
  usage: Usage,
  now: number,
): Transaction<void> {
  yield* checkFence(turn.fence)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message, usage }, now)
}

function* appendToolResult(
  turn: Turn,
  ord: number,
  call: ToolCall,
  result: string,
  how: 'done' | 'interrupted',
  now: number,
): Transaction<void> {
  yield* checkFence(turn.fence)
  yield* storeToolResult(turn, ord, call, result, how, now)
}
