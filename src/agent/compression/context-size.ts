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
  return estimatePlainTokens(message) + imageTokens(message)
}

function estimatePlainTokens(message: ChatMessage): number {
  return messageOverheadTokens + Math.ceil(estimateContentTokens(message))
}

export function estimateTokens(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + estimatePlainTokens(message), shownImageTokens(messages))
}

/** An upper bound of `estimateTokens` that reads no text. */
export function countMostTokens(messages: readonly ChatMessage[]): number {
  const plain = (message: ChatMessage) => messageOverheadTokens + 1 + measure(message, textLength)
  return messages.reduce((sum, message) => sum + plain(message), shownImageTokens(messages))
}

/** More than the tools of a request have. */
const mostToolTokens = 20_000
/** Of what is estimated. */
const leastPlausibleRatio = 0.4
/** A smaller request consists of the tools and the system prompt for the most part. */
const minCalibratedTokens = 8_000
const maxRatio = 3

/** What a request contains, and how much of it the provider has counted. */
export interface ContextParts {
  readonly messages: readonly ChatMessage[]
  readonly system: string
  /** The tokens of the first messages with the system prompt and the tools; null if they were not counted. */
  readonly counted: { readonly tokens: number; readonly messages: number } | null
  /** Tokens that the provider counts for one that is estimated. */
  readonly ratio: number
}

/** The tokens of the next request: what the provider has counted, and an estimate of what was added since. */
export function contextTokens({ messages, system, counted, ratio }: ContextParts): number {
  const old = (estimateTokens(messages.slice(0, counted?.messages ?? 0)) + estimateTextTokens(system)) * ratio
  const added = estimateTokens(messages.slice(counted?.messages ?? 0)) * ratio
  // Some servers count nothing, or only what they have not cached.
  const isPlausible = counted !== null && counted.tokens >= old * leastPlausibleRatio
  return (isPlausible ? counted.tokens : old) + added
}

/** Whether the request is within the limit for sure. Most are so short that they need not be read. */
export function isSurelyShort({ messages, system }: Pick<ContextParts, 'messages' | 'system'>, limit: number): boolean {
  return countMostTokens(messages) + system.length + mostToolTokens <= limit
}

/** The tokens of the next request, if they are so many that the conversation is to be compressed; otherwise null. */
export function excessTokens(config: CompressionConfig, parts: ContextParts): number | null {
  const limit = compressionLimit(config)
  if (!config.compression.enabled || isSurelyShort(parts, limit)) return null
  const tokens = contextTokens(parts)
  return tokens > limit ? tokens : null
}

/** `ContextParts.ratio` as this request shows it; undefined if it is too short, or if the provider did not count all. */
export function ratioOfRequest({
  messages,
  system,
  schemas,
  inputTokens,
}: {
  readonly messages: readonly ChatMessage[]
  readonly system: string
  schemas(): string
  readonly inputTokens: number
}): number | undefined {
  if (inputTokens < minCalibratedTokens) return undefined
  const estimate = estimateTokens(messages) + estimateTextTokens(system) + estimateTextTokens(schemas())
  return inputTokens < estimate * leastPlausibleRatio ? undefined : Math.min(maxRatio, inputTokens / estimate)
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

const pixelsPerToken = 750
/** A vendor makes a picture smaller that would take more. */
const mostImageTokens = 1_600

/** A request shows no more pictures. */
const mostShownImages = 20

function imageTokens(message: ChatMessage): number {
  if (message.role === 'assistant' || message.images === undefined) return 0
  return message.images.reduce((sum, { width, height }) => {
    return sum + Math.min(mostImageTokens, Math.ceil((width * height) / pixelsPerToken))
  }, 0)
}

function shownImageTokens(messages: readonly ChatMessage[]): number {
  const all = messages.reduce((sum, message) => sum + imageTokens(message), 0)
  return Math.min(all, mostShownImages * mostImageTokens)
}

/** All strings in a JSON value. */
function measureStrings(value: unknown, measureText: (text: string) => number): number {
  if (typeof value === 'string') return measureText(value)
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce<number>((sum, inner) => sum + measureStrings(inner, measureText), 0)
}
