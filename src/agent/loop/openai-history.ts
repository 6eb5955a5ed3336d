/**
 * A conversation as plugins see it: messages of OpenAI's chat format, without the system prompt.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import type { JsonObject } from '../models/provider.ts'

/** A copy: what is done to it changes nothing. */
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
