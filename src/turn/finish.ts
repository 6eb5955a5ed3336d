/**
 * The end of a turn: its last answer, its rows and its reply reach the disk in one transaction.
 */
import { finishEvent, parkEvent } from '../inbox/queries.ts'
import { type AssistantMessage, addUsage, type Usage } from '../message/transcript.ts'
import type { TurnOutcome } from '../platforms/adapter.ts'
import { addSessionUsage, checkFence, shutFence } from '../sessions/lanes.ts'
import { appendMessage, supersedeTurn, usageOfTurn } from '../sessions/transcript.ts'
import { endTurn, type TurnEnd } from '../sessions/turns.ts'
import type { UseCase } from '../store/query.ts'
import type { Turn } from './claim.ts'
import { firstPlace } from './places.ts'
import { closeOpenCalls } from './results.ts'

export interface Finish extends TurnEnd {
  readonly text: string
  /** The last answer; absent when there was none. */
  readonly message?: AssistantMessage
  readonly ord: number
  /** Of the last answer alone: what the answers before it cost is in the transcript already. */
  readonly usage: Usage
  readonly errorCode?: string
  /** The event is set aside for a person instead of being done. */
  readonly park?: boolean
  /** Writes the reply's rows into the same transaction. */
  writeReply(now: number): UseCase<void>
}

export function* finishTurn(turn: Turn, end: Finish, now: number): UseCase<TurnOutcome> {
  yield* checkFence(turn.fence)
  if (end.state !== 'done') {
    yield* closeOpenCalls(turn, now)
    yield* shutFence(turn.fence)
  }
  const usage = addUsage(yield* usageOfTurn(turn.sessionId, turn.id, firstPlace(turn)), end.usage)
  const outcome = outcomeOf(turn, end, usage)
  if (end.message !== undefined) {
    const { message } = end
    const place = { sessionId: turn.sessionId, turnId: turn.id, ord: end.ord }
    yield* appendMessage({ ...place, message, usage: end.usage }, now)
  }
  yield* endTurn(turn.id, { state: end.state, reason: end.reason, model: end.model, provider: end.provider }, now)
  if (end.park === true) {
    yield* parkEvent(turn.seq, end.reason ?? '', outcome)
    yield* supersedeTurn(turn.sessionId, turn.id)
  } else yield* finishEvent(turn.seq, outcome)
  yield* addSessionUsage(turn.sessionId, usage.inputTokens, usage.outputTokens, now)
  yield* end.writeReply(now)
  return outcome
}

function outcomeOf(turn: Turn, end: Finish, { inputTokens, outputTokens }: Usage): TurnOutcome {
  return {
    status: end.state,
    text: end.text,
    sessionId: turn.sessionId,
    model: end.model,
    usage: { inputTokens, outputTokens },
    ...(end.errorCode === undefined ? {} : { errorCode: end.errorCode }),
  }
}
