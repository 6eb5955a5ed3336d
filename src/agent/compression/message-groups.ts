/**
 * Messages that must not be parted: an answer with tool calls and the results of them.
 */
import type { ChatMessage } from '../../message/transcript.ts'

/** From the first message to the one behind the last. */
export interface MessageGroup {
  readonly from: number
  readonly to: number
}

/** The whole conversation in order. What somebody said between the results belongs to their group. */
export function groupMessages(messages: readonly ChatMessage[]): MessageGroup[] {
  const groups: MessageGroup[] = []
  for (let from = 0; from < messages.length; ) {
    const to = findGroupEnd(messages, from)
    groups.push({ from, to })
    from = to
  }
  return groups
}

function findGroupEnd(messages: readonly ChatMessage[], from: number): number {
  const first = messages[from]
  if (first?.role !== 'assistant' || first.toolCalls === undefined) return from + 1
  const calls = new Set(first.toolCalls.map(({ id }) => id))
  let end = from + 1
  for (let at = from + 1; at < messages.length; at++) {
    const message = messages[at]
    if (message?.role === 'assistant') break
    if (message?.role === 'tool' && calls.has(message.toolCallId)) end = at + 1
  }
  return end
}
