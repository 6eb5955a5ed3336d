/**
 * The durable side of a turn: what is on disk at each of its moments (design, "Durability").
 * Each function here is one transaction, composed from the queries of the rooms it touches.
 */

import type { Journal } from '../agent/journal.ts'
import { hashOfCall } from '../agent/tool-batch.ts'
import { bringFiles } from '../inbox/change-rows.ts'
import { isHermesError } from '../lib/errors.ts'
import { sessionIdAt, uuid7 } from '../lib/ids.ts'
import type { Attachment } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import type { AssistantMessage, ToolCall, Usage } from '../message/transcript.ts'
import type { TurnOutcome } from '../platforms/adapter.ts'
import { checkFence } from '../sessions/lanes.ts'
import { appendMessage } from '../sessions/transcript.ts'
import { keepLateResult, startToolCall, wasBegun } from '../sessions/turns.ts'
import type { UseCase } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import { type Claim, type ClaimRules, claimNext, type FilesFirst, type Turn } from './claim.ts'
import { type Finish, finishTurn } from './finish.ts'
import { createPlaces } from './places.ts'
import { storeResult } from './results.ts'

export type { Claim, FilesFirst, Turn } from './claim.ts'
export type { Finish } from './finish.ts'

export interface TurnJournalDeps extends ClaimRules {
  readonly store: Store
  readonly clock: () => number
}

export interface TurnJournal {
  /** Takes the turn that was cut off, else the oldest message of the lane; null when there is none. */
  claim(key: SessionKey): Promise<Claim | FilesFirst | null>
  /** Keeps where the files of a message lie, or why there are none; for one that does not wait any more, nothing. */
  keepFiles(seq: number, files: readonly Attachment[]): Promise<void>
  /** What the agent loop writes while it works. */
  journalOf(turn: Turn): Journal & { readonly nextOrd: () => number }
  /** Ends the turn: transcript, outbox rows and inbox in one transaction. Rejects `store/fenced` when overtaken. */
  finish(turn: Turn, end: Finish): Promise<TurnOutcome>
}

export function createTurnJournal(deps: TurnJournalDeps): TurnJournal {
  const { store, clock } = deps
  return {
    claim(key) {
      const now = clock()
      const ids = { turn: uuid7(now), session: sessionIdAt(now) }
      return store.run(() => claimNext(deps, key, ids, now))
    },

    keepFiles: (seq, files) => store.run(() => bringFiles(seq, files)),

    journalOf(turn) {
      const places = createPlaces(turn)
      return {
        nextOrd: places.next,
        assistant: (message, usage) =>
          store.run(() => writeAnswer(turn, places.answer(message), message, usage, clock())),
        wasBegun: (call) => store.run(() => wasBegun(turn.id, call.id)),
        toolStarted(call, mode) {
          const started = { turnId: turn.id, callId: call.id, name: call.name, argsHash: hashOfCall(call), mode }
          const now = clock()
          return store.run(function* () {
            yield* checkFence(turn.fence)
            return yield* startToolCall(started, now)
          })
        },
        async toolEnded(call, result, how) {
          try {
            await store.run(() => writeResult(turn, places.of(call), call, result, how, clock()))
          } catch (error) {
            if (isHermesError(error, 'store/fenced'))
              await store.run(() => keepLateResult(turn.id, call.id, result, clock()))
            throw error
          }
        },
      }
    },

    finish: (turn, end) => store.run(() => finishTurn(turn, end, clock())),
  }
}

function* writeAnswer(turn: Turn, ord: number, message: AssistantMessage, usage: Usage, now: number): UseCase<void> {
  yield* checkFence(turn.fence)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message, usage }, now)
}

function* writeResult(
  turn: Turn,
  ord: number,
  call: ToolCall,
  result: string,
  how: 'done' | 'interrupted',
  now: number,
): UseCase<void> {
  yield* checkFence(turn.fence)
  yield* storeResult(turn, ord, call, result, how, now)
}
