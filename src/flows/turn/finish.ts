/**
 * The end of a turn: its last answer, its rows and its reply reach the disk in one transaction.
 */
import { finishEvent, markEventDead } from '../../inbox/queries.ts'
import { type AssistantMessage, addUsage, type Usage } from '../../message/transcript.ts'
import type { TurnResult } from '../../message/turn-result.ts'
import { addSessionUsage, checkFence, revokeEpoch } from '../../sessions/session-state.ts'
import { appendMessage, supersedeTurn, usageOfTurn } from '../../sessions/transcript.ts'
import { endTurn, type FinalTurnState } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import type { Turn } from './claim.ts'
import { firstOrdinal } from './message-ordinals.ts'
import { closeOpenToolCalls } from './tool-results.ts'

export interface TurnCompletion extends FinalTurnState {
  readonly text: string
  /** The last answer; absent when there was none. */
  readonly message?: AssistantMessage
  readonly ord: number
  /** Of the last answer alone: what the answers before it cost is in the transcript already. */
  readonly usage: Usage
  readonly errorCode?: string
  /** The event is set aside for a person instead of being done. */
  readonly deadLetter?: boolean
  /** Writes the reply's rows into the same transaction. */
  writeReply(now: number): Transaction<void>
}

export function* finishTurn(turn: Turn, end: TurnCompletion, now: number): Transaction<TurnResult> {
  yield* checkFence(turn.fence)
  if (end.state !== 'done') {
    yield* closeOpenToolCalls(turn, now)
    yield* revokeEpoch(turn.fence)
  }
  const usage = addUsage(yield* usageOfTurn(turn.sessionId, turn.id, firstOrdinal(turn)), end.usage)
  const outcome = turnResultOf(turn, end, usage)
  if (end.message !== undefined) {
    const { message } = end
    const place = { sessionId: turn.sessionId, turnId: turn.id, ord: end.ord }
    yield* appendMessage({ ...place, message, usage: end.usage }, now)
  }
  yield* endTurn(turn.id, { state: end.state, reason: end.reason, model: end.model, provider: end.provider }, now)
  if (end.deadLetter === true) {
    yield* markEventDead(turn.seq, end.reason ?? '', outcome)
    yield* supersedeTurn(turn.sessionId, turn.id)
  } else yield* finishEvent(turn.seq, outcome)
  yield* addSessionUsage(turn.sessionId, usage.inputTokens, usage.outputTokens, now)
  yield* end.writeReply(now)
  return outcome
}

function turnResultOf(turn: Turn, end: TurnCompletion, { inputTokens, outputTokens }: Usage): TurnResult {
  return {
    status: end.state,
    text: end.text,
    sessionId: turn.sessionId,
    model: end.model,
    usage: { inputTokens, outputTokens },
    ...(end.errorCode === undefined ? {} : { errorCode: end.errorCode }),
  }
}
