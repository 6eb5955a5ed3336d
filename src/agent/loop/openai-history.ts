/**
 * Converts a conversation to the format in which plugins receive it: messages of Chat Completions, without the system
 * prompt.
 */

import type { JsonObject } from '../../lib/json.ts'
import type { ChatMessage } from '../../message/transcript.ts'

/** Returns a copy, so that a plugin cannot modify the transcript. */
export function toOpenAiHistory(messages: readonly ChatMessage[]): JsonObject[] {
  return messages.map((message) => {
    const { role, content } = message
    if (message.role === 'tool') return { role, tool_call_id: message.toolCallId, name: message.name, content }
    if (message.role === 'user' || message.toolCalls === undefined) return { role, content }
    const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    }))
    return { role, content, tool_calls: calls }
  })
}
