/**
 * The results of a turn's tool calls: how each call ended and what the model reads of it, always stored together.
 */
import type { ToolCall } from '../../message/transcript.ts'
import { appendMessage, readTranscript } from '../../sessions/transcript.ts'
import { endToolCall } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import type { Turn } from './claim.ts'

/** @param ord the place in the transcript */
export function* storeToolResult(
  turn: Turn,
  ord: number,
  call: ToolCall,
  content: string,
  how: 'done' | 'interrupted',
  now: number,
): Transaction<void> {
  const message = { role: 'tool' as const, toolCallId: call.id, name: call.name, content }
  yield* endToolCall(turn.id, call.id, how, now)
  yield* appendMessage({ sessionId: turn.sessionId, turnId: turn.id, ord, message }, now)
}

/** A turn that ends early leaves no call without a result: models refuse such a conversation. */
export function* closeOpenToolCalls(turn: Turn, now: number): Transaction<void> {
  const lines = yield* readTranscript(turn.sessionId)
  const own = lines.filter((line) => line.turnId === turn.id)
  const answered = new Set(own.flatMap(({ message }) => (message.role === 'tool' ? [message.toolCallId] : [])))
  for (const { ord, message } of own) {
    if (message.role !== 'assistant') continue
    for (const [index, call] of (message.toolCalls ?? []).entries()) {
      if (answered.has(call.id)) continue
      yield* storeToolResult(turn, ord + 1 + index, call, interruptedToolResult, 'interrupted', now)
    }
  }
}

const interruptedToolResult = JSON.stringify({
  error: 'The turn ended before this tool gave a result; whether it had an effect is not known.',
})
