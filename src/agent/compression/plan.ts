/**
 * What a compression does to a conversation, before anything is asked or written (contract §4.3): which tool results are
 * cleared, which messages become the summary, and in whose name it speaks. Pure.
 */
import type { ChatMessage } from '../../message/transcript.ts'
import { estimateMessageTokens, estimateTokens } from './estimate-tokens.ts'
import { groupMessages, type MessageGroup } from './message-groups.ts'

/** What stands in the place of an old tool result. */
export const clearedResultText = '[Old tool output cleared to save context space]'

/** A longer tool result is cleared. */
const maxKeptResultChars = 200

/** Fewer new tokens are not worth a call of the model. */
const minSummarizedTokens = 500

export interface CompressionEntry {
  readonly message: ChatMessage
  /** Written by an earlier compression. */
  readonly isSummary?: boolean
}

export interface CompressionOptions {
  /** Tokens the model can read. */
  readonly contextLength: number
  /** The share of it above which conversations are compressed. */
  readonly threshold: number
  /** The share of the threshold that the tail fills. */
  readonly targetRatio: number
  readonly protectLastMessages: number
  /** The system prompt, which is not among the lines, counts as one. */
  readonly protectFirstMessages: number
  /** Where the turn begins that is at work: it is not summarised, because it goes on from its own lines. */
  readonly turnStart: number
  /** Nothing is done unless so many tokens go. */
  readonly minTokensSaved: number
}

export interface CompressionPlan {
  /** The lines whose tool results are cleared. */
  readonly clearedIndexes: readonly number[]
  /** The lines that the summary replaces; undefined: clearing is all. */
  readonly summarizedRange?: MessageGroup & { readonly role: 'user' | 'assistant' }
  /** As long as the summary should be at most, in tokens. */
  readonly maxSummaryTokens: number
}

/** Undefined: there is nothing to win. */
export function planCompression(
  lines: readonly CompressionEntry[],
  rules: CompressionOptions,
): CompressionPlan | undefined {
  const messages = lines.map(({ message }) => message)
  const groups = groupMessages(messages)
  const tailTokens = rules.contextLength * rules.threshold * rules.targetRatio
  const untouched = findTailStart(messages, groups, rules, tailTokens)
  const kept = Math.min(untouched, rules.turnStart)
  const head = findHeadEnd(lines, groups, rules, kept, tailTokens)
  const summarizedRange = chooseSummarizedRange(lines, groups, head, kept)
  const clearedIndexes = findClearableResults(
    messages,
    summarizedRange?.from ?? head,
    summarizedRange?.to ?? kept,
    untouched,
  )
  const gain =
    sum(clearedIndexes, (at) => tokensSaved(messages[at])) +
    (summarizedRange === undefined ? 0 : unsummarizedTokens(lines.slice(summarizedRange.from, summarizedRange.to)))
  if (gain === 0 || gain < rules.minTokensSaved) return undefined
  const replaced =
    summarizedRange === undefined ? 0 : estimateTokens(messages.slice(summarizedRange.from, summarizedRange.to))
  return {
    clearedIndexes,
    maxSummaryTokens: summaryTokenLimit(replaced, rules.contextLength),
    ...(summarizedRange === undefined ? {} : { summarizedRange }),
  }
}

/** 20 % of what it replaces, at least 2,000; at most 12,000 and 5 % of what the model can read. */
function summaryTokenLimit(replaced: number, contextLength: number): number {
  return Math.floor(Math.min(Math.max(replaced * 0.2, 2_000), contextLength * 0.05, 12_000))
}

/** The newest groups that fit, more of them where few messages would stay; the last one stays in any case. */
function findTailStart(
  messages: readonly ChatMessage[],
  groups: readonly MessageGroup[],
  { contextLength, threshold, protectLastMessages }: CompressionOptions,
  tailTokens: number,
): number {
  const most = (contextLength * threshold) / 2
  let start = messages.length
  let tokens = 0
  for (const { from, to } of groups.toReversed()) {
    tokens += estimateTokens(messages.slice(from, to))
    const few = messages.length - start < protectLastMessages
    if (start < messages.length && tokens > (few ? Math.max(most, tailTokens) : tailTokens)) break
    start = from
  }
  return start
}

/** The first exchange stays as it is, unless it is longer than all that stays at the end. */
function findHeadEnd(
  lines: readonly CompressionEntry[],
  groups: readonly MessageGroup[],
  { protectFirstMessages }: CompressionOptions,
  limit: number,
  mostTokens: number,
): number {
  const wanted = protectFirstMessages - 1
  const end = wanted <= 0 ? 0 : (groups.find(({ to }) => to >= wanted)?.to ?? lines.length)
  const summary = lines.findIndex(({ isSummary }) => isSummary === true)
  const head = Math.min(end, limit, summary === -1 ? end : summary)
  const tokens = sum(lines.slice(0, head), ({ message }) => estimateMessageTokens(message) - tokensSaved(message))
  return tokens > mostTokens ? 0 : head
}

/** Undefined where too little is between the two. */
function chooseSummarizedRange(
  lines: readonly CompressionEntry[],
  groups: readonly MessageGroup[],
  from: number,
  limit: number,
): CompressionPlan['summarizedRange'] {
  const before = lines[from - 1]?.message.role
  const ends = [
    limit,
    ...groups
      .map((group) => group.from)
      .filter((start) => start > from && start < limit)
      .toReversed(),
  ]
  const isWorth = (to: number) => unsummarizedTokens(lines.slice(from, to)) >= minSummarizedTokens
  if (!isWorth(limit)) return undefined
  for (const to of ends) {
    const role = chooseSummaryRole(before, lines[to]?.message.role)
    if (role !== undefined && isWorth(to)) return { from, to, role }
  }
  // Providers are told neighbours of the same role as one message.
  return { from, to: limit, role: 'user' }
}

/** Users and the assistant take turns. Where neither may speak, a little more has to stay. */
function chooseSummaryRole(before: ChatMessage['role'] | undefined, after: ChatMessage['role'] | undefined) {
  if (before !== 'user' && after !== 'user') return 'user'
  return before !== undefined && before !== 'assistant' && after !== 'assistant' ? 'assistant' : undefined
}

function unsummarizedTokens(lines: readonly CompressionEntry[]): number {
  return sum(lines, ({ message, isSummary }) => (isSummary === true ? 0 : estimateMessageTokens(message)))
}

/** Old results of tools in the head, and those of the turn at work that lie before the tail. */
function findClearableResults(
  messages: readonly ChatMessage[],
  head: number,
  kept: number,
  untouched: number,
): number[] {
  return messages.flatMap((message, at) =>
    (at < head || (at >= kept && at < untouched)) && tokensSaved(message) > 0 ? [at] : [],
  )
}

/** The same line with its result cleared, if it is a long one. */
export function clearToolResult(message: ChatMessage): ChatMessage {
  return message.role === 'tool' && message.content.length > maxKeptResultChars
    ? { ...message, content: clearedResultText }
    : message
}

function tokensSaved(message: ChatMessage | undefined): number {
  return message === undefined ? 0 : estimateMessageTokens(message) - estimateMessageTokens(clearToolResult(message))
}

function sum<T>(list: readonly T[], of: (one: T) => number): number {
  return list.reduce((total, one) => total + of(one), 0)
}
