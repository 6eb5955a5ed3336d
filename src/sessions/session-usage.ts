/**
 * What a session has used: its tokens and cost, and how much of it the model reads.
 */
import type { ConversationUsage } from '../commands/conversation.ts'
import type { Spent } from '../lib/format-cost.ts'
import { type Usage, unpricedTokens } from '../message/transcript.ts'
import { row, type Transaction } from '../store/query.ts'
import { latestUsage } from './conversation-edits.ts'
import { countMessages, sessionById, spentInSession } from './session-queries.ts'
import { usageOfTurn } from './transcript.ts'

/** Undefined if there is no such session. */
export function* usageOfSession(id: string): Transaction<ConversationUsage | undefined> {
  const session = yield* row(sessionById, { id })
  if (session === undefined) return undefined
  const stored = yield* latestUsage(id)
  const latest: Usage | undefined = stored?.usage == null ? undefined : JSON.parse(stored.usage)
  const turn = stored?.turn_id == null ? undefined : yield* usageOfTurn(id, stored.turn_id, 0)
  return {
    inputTokens: session.input_tokens,
    outputTokens: session.output_tokens,
    spent: spentInSession(session),
    lastTurn: turn === undefined ? undefined : spentOf(turn),
    messages: (yield* row(countMessages, { session_id: id }))?.count ?? 0,
    contextTokens: latest === undefined ? undefined : latest.inputTokens + latest.outputTokens,
    cachedTokens: latest?.cachedInputTokens ?? 0,
    startedAt: session.created_at,
  }
}

function spentOf(usage: Usage): Spent {
  return {
    tokens: usage.inputTokens + usage.outputTokens,
    unpricedTokens: unpricedTokens(usage),
    cost: usage.cost ?? 0,
  }
}
