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

/** Holds for words of ASCII characters, which most tokenizers know best. */
export const charsPerToken = 4

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

/** An upper bound of `estimateTokens`, and of what a provider counts, that is quick. */
export function countMostTokens(messages: readonly ChatMessage[]): number {
  const plain = (message: ChatMessage) => messageOverheadTokens + 1 + measure(message, textBytes)
  return messages.reduce((sum, message) => sum + plain(message), shownImageTokens(messages))
}

/** More than the tools of a request have. */
const mostToolTokens = 20_000
/** The lowest ratio of counted to estimated tokens that is believed. */
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
  /** The calibration factor: tokens that the provider counts per estimated token. */
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

/** Whether the request is within the limit for sure. Most are so short that they need not be estimated. */
export function isSurelyShort({ messages, system }: Pick<ContextParts, 'messages' | 'system'>, limit: number): boolean {
  return countMostTokens(messages) + textBytes(system) + mostToolTokens <= limit
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

/** No tokenizer has more tokens than bytes. */
const textBytes = (text: string) => Buffer.byteLength(text)

/**
 * Kinds of ASCII characters: white space and control characters, line breaks, and the characters of words and signs.
 */
const kinds = { none: 0, line: 1, lower: 2, upper: 3, digit: 4, sign: 5 } as const
const kindCount = 6

function kindOf(unit: number): number {
  if (unit >= 0x61 && unit <= 0x7a) return kinds.lower
  if (unit >= 0x41 && unit <= 0x5a) return kinds.upper
  if (unit >= 0x30 && unit <= 0x39) return kinds.digit
  if (unit === 0x0a) return kinds.line
  return unit > 0x20 ? kinds.sign : kinds.none
}

/** The tokens of a character by its kind and by the kind of the one before it. A word has its space, and may begin with a capital. */
function tokensOfKind(kind: number, previous: number): number {
  const isInWord = previous === kinds.lower || previous === kinds.upper
  const wordTokens = previous === kinds.none ? 0.85 : 1
  if (kind === kinds.lower) return isInWord ? 0.06 : wordTokens
  if (kind === kinds.upper) return previous === kinds.upper ? 0.3 : wordTokens
  if (kind === kinds.digit) return 0.9
  if (kind === kinds.sign) return previous === kinds.sign ? 0.4 : 0.65
  return kind === kinds.line ? 0.6 : 0
}

const kindOfUnit = Uint8Array.from({ length: 0x80 }, (_, unit) => kindOf(unit))
const tokensOfPair = Float64Array.from({ length: kindCount * kindCount }, (_, pair) =>
  tokensOfKind(pair % kindCount, Math.floor(pair / kindCount)),
)

/**
 * Four characters of ASCII are a token, or fewer where there are many numbers, signs and changes of case, as in code
 * and in base64. A character of another script has a share that depends on the script. The shares are between those
 * of the tokenizers of the vendors, nearer to the largest. Linear time.
 */
export function estimateTextTokens(text: string): number {
  let asciiChars = 0
  let partTokens = 0
  let otherTokens = 0
  let previous: number = kinds.none
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const kind = kindOfUnit[unit]
    if (kind === undefined) otherTokens += tokensOfUnit(unit)
    else {
      asciiChars += 1
      partTokens += tokensOfPair[previous * kindCount + kind] ?? 0
    }
    previous = kind ?? kinds.none
  }
  return Math.max(asciiChars / charsPerToken, partTokens) + otherTokens
}

/** The first units of scripts in the order of Unicode, with the tokens of a unit. Emoji and rare characters have two units. */
const scripts = [
  { name: 'halves of pairs', from: 0xd800, to: 0xe000, tokens: 1.4 },
  { name: 'ideographs', from: 0x3400, to: 0xa000, tokens: 1.25 },
  { name: 'Latin', from: 0x80, to: 0x250, tokens: 1 },
  { name: 'Greek and Cyrillic', from: 0x250, to: 0x590, tokens: 0.5 },
  { name: 'Hebrew and Arabic', from: 0x590, to: 0x900, tokens: 0.8 },
  { name: 'scripts of India and of South East Asia', from: 0x900, to: 0x1100, tokens: 1.2 },
  { name: 'signs and other scripts', from: 0x1200, to: 0x2e80, tokens: 1.5 },
] as const
/** Holds for kana, for Hangul, and for characters that are in no range. */
const otherTokensOfUnit = 1

function tokensOfUnit(unit: number): number {
  for (const { from, to, tokens } of scripts) if (unit >= from && unit < to) return tokens
  return otherTokensOfUnit
}

function estimateContentTokens(message: ChatMessage): number {
  return measure(message, estimateTextTokens)
}

function measure(message: ChatMessage, measureText: (text: string) => number): number {
  if (message.role !== 'assistant') return measureText(message.content)
  const { content, toolCalls = [], providerData } = message
  const callTokens = toolCalls.reduce(
    (sum, call) => sum + measureText(call.name) + measureText(call.arguments),
    measureText(content),
  )
  // The provider's own items are sent instead of the text and the calls that were read from them.
  return Math.max(callTokens, measureStrings(providerData?.items, measureText))
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
