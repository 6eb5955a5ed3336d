/**
 * Estimates the tokens of a conversation by its characters (contract §4.3), where the provider has not counted them. The
 * estimate is cheap enough to run before each turn. If it is too low, the model rejects the request and the conversation is
 * compressed then.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import type { CompressionConfig } from './config.ts'

/** Above this share of the window, a conversation is compressed at once, whatever failed before. */
export const urgentShare = 0.85

/** The tokens above which a conversation is compressed. */
export function compressionLimit({
  context_length: contextLength,
  compression: { threshold, threshold_percent: former, threshold_tokens: most = Number.POSITIVE_INFINITY },
}: CompressionConfig): number {
  const share = former === undefined ? threshold : Math.min(0.95, former > 1 ? former / 100 : former)
  return Math.min(contextLength * share, most)
}

/** Of ASCII text, which most tokenizers know best. */
export const charsPerToken = 4
/** Of other alphabets. */
const charsPerTokenElsewhere = 2

/** The tokens of a message in addition to its text. */
const messageOverheadTokens = 4

export function estimateMessageTokens(message: ChatMessage): number {
  return messageOverheadTokens + Math.ceil(estimateContentTokens(message))
}

export function estimateTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), 0)
}

/** An upper bound of `estimateTokens` that reads no text. */
export function countMostTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + messageOverheadTokens + 1 + measure(message, textLength), 0)
}

const textLength = (text: string) => text.length

/** Four characters of ASCII, two of other alphabets, one of Chinese, Japanese and Korean. Linear time. */
export function estimateTextTokens(text: string): number {
  if (isAscii(text)) return text.length / charsPerToken
  let tokens = 0
  for (let at = 0; at < text.length; at++) tokens += tokensOfUnit(text.charCodeAt(at))
  return tokens
}

function isAscii(text: string): boolean {
  return !/[^\0-\x7f]/.test(text)
}

/** From the radicals of Chinese characters on: ideographs, kana, Hangul, and the halves of emoji and rare characters. */
function tokensOfUnit(unit: number): number {
  if (unit < 0x80) return 1 / charsPerToken
  return unit >= 0x2e80 || (unit >= 0x1100 && unit < 0x1200) ? 1 : 1 / charsPerTokenElsewhere
}

function estimateContentTokens(message: ChatMessage): number {
  return measure(message, estimateTextTokens)
}

function measure(message: ChatMessage, measureText: (text: string) => number): number {
  if (message.role !== 'assistant') return measureText(message.content)
  const { content, toolCalls = [], providerData } = message
  const own = toolCalls.reduce(
    (sum, call) => sum + measureText(call.name) + measureText(call.arguments),
    measureText(content),
  )
  // The provider's own items are sent instead of the text and the calls that were read from them.
  return Math.max(own, measureStrings(providerData?.items, measureText))
}

/** All strings in a JSON value. */
function measureStrings(value: unknown, measureText: (text: string) => number): number {
  if (typeof value === 'string') return measureText(value)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + measureStrings(inner, measureText), 0)
}
