/**
 * Estimates the tokens of a conversation by its characters (contract §4.3). The estimate is the same for every model and
 * cheap enough to run before each turn. If it is too low, the model rejects the request and the conversation is
 * compressed then.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import type { CompressionConfig } from './config.ts'

/** The share of the context length above which a conversation is compressed. */
export function compressionThreshold({
  compression: { threshold, threshold_percent: former },
}: CompressionConfig): number {
  if (former === undefined) return threshold
  return Math.min(0.95, former > 1 ? former / 100 : former)
}

export const charsPerToken = 4

/** The tokens of a message in addition to its text. */
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
  // The provider's own items are sent instead of the text and the calls that were read from them.
  return Math.max(own, countTextChars(providerData?.items))
}

/** The characters of all strings in a JSON value. */
function countTextChars(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + countTextChars(inner), 0)
}
