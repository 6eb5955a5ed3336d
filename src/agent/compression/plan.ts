/**
 * Plans the compression of a conversation (contract §4.3): which tool results are cleared, which messages the summary
 * replaces, and which role it gets. Pure.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import { estimateMessageTokens, estimateTokens } from './context-size.ts'

/** Replaces the content of an old tool result. */
export const clearedResultText = '[Old tool output cleared to save context space]'

/** A longer tool result is cleared. */
const maxKeptResultChars = 200

/** Fewer new tokens do not justify a model call. */
const minSummarizedTokens = 500

export interface CompressionEntry {
  readonly message: ChatMessage
  /** The message is the summary of an earlier compression. */
  readonly isSummary?: boolean
}

export interface CompressionOptions {
  /** The context length of the model in tokens. */
  readonly contextLength: number
  /** The tokens above which conversations are compressed. */
  readonly limit: number
  /** The tokens that are kept for the tail. */
  readonly tailTokens: number
  /** The newest messages of people that are kept. */
  readonly minTailUserMessages: number
  readonly protectLastMessages: number
  /** Includes the system prompt, which is not one of the entries. */
  readonly protectFirstMessages: number
  /** The index at which the running turn begins. */
  readonly turnStart: number
  /**
   * What the summary replaces: messages before the running turn, or messages of the turn itself, without the one that
   * began it and without the newest calls. With `nothing`, results are cleared without a summary.
   */
  readonly summarizes: 'history' | 'turn' | 'nothing'
  /** The minimum number of tokens that a compression must save. */
  readonly minTokensSaved: number
  /** The range is left out without a model call, so that few tokens and earlier summaries are enough for one. */
  readonly isLeftOut?: true
}

export interface CompressionPlan {
  /** The indexes of the tool results that are cleared. */
  readonly clearedIndexes: readonly number[]
  /** The messages that the summary replaces; undefined when results are only cleared. */
  readonly summarizedRange?: (MessageGroup & { readonly role: 'user' | 'assistant' }) | undefined
  /** Length limit of the summary in tokens. */
  readonly maxSummaryTokens: number
}

/** Undefined when a compression would not save enough. */
export function planCompression(
  entries: readonly CompressionEntry[],
  options: CompressionOptions,
): CompressionPlan | undefined {
  const messages = entries.map(({ message }) => message)
  const groups = groupMessages(messages)
  const { tailTokens, turnStart, summarizes } = options
  const tailStart = findTailStart(messages, groups, options)
  const keptStart = findKeptStart(entries, groups, options, Math.min(tailStart, turnStart))
  const head = findHeadEnd(entries, groups, options, keptStart, tailTokens)
  const summarizedRange =
    summarizes === 'nothing'
      ? undefined
      : summarizes === 'history'
        ? chooseSummarizedRange(entries, groups, options, { from: head, to: keptStart })
        : chooseSummarizedRange(entries, groups, options, { from: turnStart + 1, to: tailStart })
  const clearable =
    summarizes === 'history'
      ? { from: summarizedRange?.from ?? head, to: summarizedRange?.to ?? keptStart }
      : summarizedRange
  const clearedIndexes = findClearableResults(messages, clearable, tailStart)
  const gain =
    sum(clearedIndexes, (at) => tokensSaved(messages[at])) +
    (summarizedRange === undefined
      ? 0
      : replacedTokens(entries.slice(summarizedRange.from, summarizedRange.to), options))
  if (gain === 0 || gain < options.minTokensSaved) return undefined
  const replaced =
    summarizedRange === undefined ? 0 : estimateTokens(messages.slice(summarizedRange.from, summarizedRange.to))
  return {
    clearedIndexes,
    maxSummaryTokens: summaryTokenLimit(replaced, options.contextLength),
    summarizedRange,
  }
}

/** 20 % of the replaced tokens and at least 2,000, but at most 12,000 and 5 % of the context length. */
function summaryTokenLimit(replaced: number, contextLength: number): number {
  return Math.floor(Math.min(Math.max(replaced * 0.2, 2_000), contextLength * 0.05, 12_000))
}

/** The newest groups that fit, and more when they contain too few messages. The last group is always kept. */
function findTailStart(
  messages: readonly ChatMessage[],
  groups: readonly MessageGroup[],
  { limit, protectLastMessages, tailTokens }: CompressionOptions,
): number {
  const maxTokens = limit / 2
  let start = messages.length
  let tokens = 0
  for (const { from, to } of groups.toReversed()) {
    tokens += estimateTokens(messages.slice(from, to))
    const hasFewMessages = messages.length - start < protectLastMessages
    if (start < messages.length && tokens > (hasFewMessages ? Math.max(maxTokens, tailTokens) : tailTokens)) break
    start = from
  }
  return start
}

/** Earlier than `from` if too few messages of people follow there. They may take half of the limit. */
function findKeptStart(
  entries: readonly CompressionEntry[],
  groups: readonly MessageGroup[],
  { limit, minTailUserMessages }: CompressionOptions,
  from: number,
): number {
  const isOfPerson = ({ message, isSummary }: CompressionEntry) => message.role === 'user' && isSummary !== true
  let missing = minTailUserMessages - entries.slice(from).filter(isOfPerson).length
  let start = from
  let tokens = 0
  for (const group of groups.toReversed()) {
    if (group.to > from) continue
    if (missing <= 0) break
    tokens += sum(entries.slice(group.from, group.to), ({ message }) => estimateMessageTokens(clearToolResult(message)))
    if (tokens > limit / 2) break
    missing -= entries.slice(group.from, group.to).filter(isOfPerson).length
    if (missing <= 0) start = group.from
  }
  return start
}

/** The first exchange is kept unless it is longer than the tail. */
function findHeadEnd(
  entries: readonly CompressionEntry[],
  groups: readonly MessageGroup[],
  { protectFirstMessages }: CompressionOptions,
  limit: number,
  maxTokens: number,
): number {
  const protectedCount = protectFirstMessages - 1
  const end = protectedCount <= 0 ? 0 : (groups.find(({ to }) => to >= protectedCount)?.to ?? entries.length)
  const summary = entries.findIndex(({ isSummary }) => isSummary === true)
  const head = Math.min(end, limit, summary === -1 ? end : summary)
  const tokens = sum(entries.slice(0, head), ({ message }) => estimateMessageTokens(message) - tokensSaved(message))
  return tokens > maxTokens ? 0 : head
}

/** Undefined when too few tokens lie between the head and the tail. */
function chooseSummarizedRange(
  entries: readonly CompressionEntry[],
  groups: readonly MessageGroup[],
  options: Pick<CompressionOptions, 'isLeftOut'>,
  { from, to: limit }: MessageGroup,
): CompressionPlan['summarizedRange'] {
  const before = entries[from - 1]?.message.role
  const ends = [
    limit,
    ...groups
      .map((group) => group.from)
      .filter((start) => start > from && start < limit)
      .toReversed(),
  ]
  const minTokens = options.isLeftOut === true ? 1 : minSummarizedTokens
  const isLongEnough = (to: number) => replacedTokens(entries.slice(from, to), options) >= minTokens
  if (!isLongEnough(limit)) return undefined
  for (const to of ends) {
    const role = chooseSummaryRole(before, entries[to]?.message.role)
    if (role !== undefined && isLongEnough(to)) return { from, to, role }
  }
  // Adjacent messages of the same role are joined before they are sent to a provider.
  return { from, to: limit, role: 'user' }
}

/** User and assistant must alternate. Undefined when neither role fits; then the range must end earlier. */
function chooseSummaryRole(before: ChatMessage['role'] | undefined, after: ChatMessage['role'] | undefined) {
  if (before !== 'user' && after !== 'user') return 'user'
  return before !== undefined && before !== 'assistant' && after !== 'assistant' ? 'assistant' : undefined
}

/** A summary saves nothing of an earlier one. */
function replacedTokens(
  entries: readonly CompressionEntry[],
  { isLeftOut }: Pick<CompressionOptions, 'isLeftOut'>,
): number {
  const isKept = ({ isSummary }: CompressionEntry) => isSummary === true && isLeftOut !== true
  return sum(entries, (entry) => (isKept(entry) ? 0 : estimateMessageTokens(entry.message)))
}

/** Long tool results before the tail. A result that the summary replaces, or could replace, need not be cleared. */
function findClearableResults(
  messages: readonly ChatMessage[],
  covered: MessageGroup | undefined,
  tailStart: number,
): number[] {
  const isCovered = (at: number) => covered !== undefined && at >= covered.from && at < covered.to
  return messages.flatMap((message, at) => (at < tailStart && !isCovered(at) && tokensSaved(message) > 0 ? [at] : []))
}

/** The same message; the content of a long tool result is replaced, and its pictures are removed. */
export function clearToolResult(message: ChatMessage): ChatMessage {
  if (message.role !== 'tool') return message
  const isLong = message.content.length > maxKeptResultChars
  if (!isLong && message.images === undefined) return message
  const { images: _images, ...rest } = message
  return isLong ? { ...rest, content: clearedResultText } : rest
}

function tokensSaved(message: ChatMessage | undefined): number {
  return message === undefined ? 0 : estimateMessageTokens(message) - estimateMessageTokens(clearToolResult(message))
}

function sum<Item>(items: readonly Item[], measure: (item: Item) => number): number {
  return items.reduce((total, item) => total + measure(item), 0)
}

/** A half-open range of messages that must not be separated, such as a response with tool calls and their results. */
export interface MessageGroup {
  readonly from: number
  readonly to: number
}

/** Splits the whole conversation. Messages between the results of a call belong to its group. */
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
