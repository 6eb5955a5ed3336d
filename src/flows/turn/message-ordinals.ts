/**
 * Where the messages of a turn stand in the transcript.
 */
import type { AssistantMessage, ToolCall } from '../../message/transcript.ts'
import type { TranscriptEntry } from '../../sessions/transcript.ts'
import type { Turn } from './claim.ts'

/**
 * Gives every message of a running turn its place. The results of one answer lie behind it in the order of its calls,
 * whichever ends first; after a crash an open call still takes the place it was promised.
 */
export function createMessageOrdinals(turn: Turn) {
  const ordinals = new Map<string, number>()
  let next = ordinalAfter(turn.transcript)
  const reserve = (ord: number, { toolCalls = [] }: AssistantMessage) => {
    for (const [index, call] of toolCalls.entries()) ordinals.set(call.id, ord + 1 + index)
    next = Math.max(next, ord + 1 + toolCalls.length)
  }
  for (const { turnId, ord, message } of turn.transcript) {
    if (turnId === turn.id && message.role === 'assistant') reserve(ord, message)
  }
  return {
    next: () => next,
    answer(message: AssistantMessage): number {
      const ord = next
      reserve(ord, message)
      return ord
    },
    of(call: ToolCall): number {
      const ordinal = ordinals.get(call.id)
      if (ordinal === undefined) throw new Error(`the tool call ${call.id} has no place in the transcript`)
      return ordinal
    },
  }
}

/** Where this turn begins in the transcript. */
export function firstOrdinal(turn: Turn): number {
  return turn.transcript.find(({ turnId }) => turnId === turn.id)?.ord ?? ordinalAfter(turn.transcript)
}

function ordinalAfter(lines: readonly TranscriptEntry[]): number {
  return (lines.at(-1)?.ord ?? -1) + 1
}
