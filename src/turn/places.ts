/**
 * Where the messages of a turn stand in the transcript.
 */
import type { AssistantMessage, ToolCall } from '../message/transcript.ts'
import type { TranscriptLine } from '../sessions/transcript.ts'
import type { Turn } from './claim.ts'

/**
 * Gives every message of a running turn its place. The results of one answer lie behind it in the order of its calls,
 * whichever ends first; after a crash an open call still takes the place it was promised.
 */
export function createPlaces(turn: Turn) {
  const places = new Map<string, number>()
  let next = nextPlace(turn.lines)
  const promise = (ord: number, { toolCalls = [] }: AssistantMessage) => {
    for (const [index, call] of toolCalls.entries()) places.set(call.id, ord + 1 + index)
    next = Math.max(next, ord + 1 + toolCalls.length)
  }
  for (const { turnId, ord, message } of turn.lines) {
    if (turnId === turn.id && message.role === 'assistant') promise(ord, message)
  }
  return {
    next: () => next,
    answer(message: AssistantMessage): number {
      const ord = next
      promise(ord, message)
      return ord
    },
    of(call: ToolCall): number {
      const place = places.get(call.id)
      if (place === undefined) throw new Error(`the tool call ${call.id} has no place in the transcript`)
      return place
    },
  }
}

/** Where this turn begins in the transcript. */
export function firstPlace(turn: Turn): number {
  return turn.lines.find(({ turnId }) => turnId === turn.id)?.ord ?? nextPlace(turn.lines)
}

function nextPlace(lines: readonly TranscriptLine[]): number {
  return (lines.at(-1)?.ord ?? -1) + 1
}
