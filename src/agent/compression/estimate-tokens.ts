/**
 * How many tokens a conversation takes, by its characters (contract §4.3): the same for every model, and cheap enough to
 * be asked before each turn. What it gets wrong, the model says: then the conversation is compressed as well.
 */
import type { ChatMessage } from '../../message/transcript.ts'

export const charsPerToken = 4

/** What a message costs beside its words. */
const messageOverheadTokens = 4

export function estimateMessageTokens(message: ChatMessage): number {
  return messageOverheadTokens + Math.ceil(countChars(message) / charsPerToken)
}

export function estimateTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0)
}

function countChars(message: ChatMessage): number {
  if (message.role !== 'assistant') return message.content.length
  const { content, toolCalls = [], providerData } = message
  const own = toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, content.length)
  // The provider's own items are sent in the place of what was read from them.
  return Math.max(own, countTextChars(providerData?.items))
}

/** The characters of all texts in a JSON value. */
function countTextChars(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + countTextChars(inner), 0)
}
