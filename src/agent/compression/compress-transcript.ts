/**
 * Compresses a conversation (contract §4.3): makes a plan, requests a summary of the older part from the model, and
 * returns the replacements. It writes nothing.
 */
import { beginningOf } from '../../lib/redact.ts'
import { type ChatMessage, noUsage, type Usage } from '../../message/transcript.ts'
import { estimateTextTokens, estimateTokens } from './context-size.ts'
import {
  type CompressionEntry,
  type CompressionOptions,
  type CompressionPlan,
  clearToolResult,
  type MessageGroup,
  planCompression,
} from './plan.ts'
import {
  buildSummaryMessage,
  buildSummaryRequest,
  lastTodoList,
  leftOutRecord,
  type SummaryRequest,
} from './summary-prompt.ts'

/** One model call without tools. Rejects as the model does. */
export type RequestSummary = (request: SummaryRequest) => Promise<{ readonly text: string; readonly usage: Usage }>

export interface CompressionResult {
  /** Tool results whose content is replaced. */
  readonly clearedResults: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** The message that replaces a range. It takes the ordinal of the last message in the range. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage } | undefined
  /** The token usage of the summary. */
  readonly usage: Usage
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** The response of the model is not a usable summary. */
export class UnusableSummaryError extends Error {
  constructor(reason: string) {
    super(`the summary cannot be used: ${reason}`)
    this.name = 'UnusableSummaryError'
  }
}

export interface SummaryOptions {
  /** What the user wants to keep; '' without a preference. */
  readonly focus: string
  /** What a memory provider adds to the summary of these messages; '' for nothing. Never rejects. */
  insights(messages: readonly ChatMessage[]): Promise<string>
}

/** Undefined when a compression would not save enough. Rejects as `requestSummary` does, or with `UnusableSummaryError`. */
export async function compressTranscript(
  entries: readonly CompressionEntry[],
  options: CompressionOptions,
  summaryOptions: SummaryOptions,
  requestSummary: RequestSummary,
): Promise<CompressionResult | undefined> {
  const plan = planCompression(entries, options)
  if (plan === undefined) return undefined
  const before = entries.map(({ message }) => message)
  const summary =
    plan.summarizedRange === undefined
      ? undefined
      : await summarize(entries, plan, plan.summarizedRange, options, summaryOptions, requestSummary)
  const clearedResults = plan.clearedIndexes.flatMap((at) => {
    const message = before[at]
    return message === undefined ? [] : [{ at, message: clearToolResult(message) }]
  })
  const changed = new Map(clearedResults.map(({ at, message }) => [at, message]))
  const after = before.flatMap((message, at) => {
    if (summary === undefined || at < summary.from || at >= summary.to) return [changed.get(at) ?? message]
    return at === summary.from ? [summary.message] : []
  })
  return {
    clearedResults,
    summary: summary && { from: summary.from, to: summary.to, message: summary.message },
    usage: summary?.usage ?? noUsage,
    tokensBefore: estimateTokens(before),
    tokensAfter: estimateTokens(after),
  }
}

/**
 * Leaves the oldest part out without a model: a note takes its place, with what is left of earlier records. Undefined when nothing
 * can be left out. Pure.
 */
export function leaveOutOldest(
  entries: readonly CompressionEntry[],
  options: CompressionOptions,
): CompressionResult | undefined {
  const plan = planCompression(entries, { ...options, minTokensSaved: 1, isLeftOut: true })
  if (plan?.summarizedRange === undefined) return undefined
  const { from, to, role } = plan.summarizedRange
  const replaced = entries.slice(from, to)
  const texts = [leftOutRecord(replaced), ...addedParts(entries, { from, to }, options)]
  const parts = texts.map((text) => cutToTokens(text, plan.maxSummaryTokens))
  const message = buildSummaryMessage(role, parts.join('\n\n'))
  const before = entries.map((entry) => entry.message)
  if (estimateTokens([message]) >= estimateTokens(before.slice(from, to))) return undefined
  return {
    clearedResults: [],
    summary: { from, to, message },
    usage: noUsage,
    tokensBefore: estimateTokens(before),
    tokensAfter: estimateTokens(before.toSpliced(from, to - from, message)),
  }
}

function cutToTokens(text: string, tokens: number): string {
  const share = tokens / estimateTextTokens(text)
  return share >= 1 ? text : `${beginningOf(text, Math.floor(text.length * share))} […]`
}

async function summarize(
  entries: readonly CompressionEntry[],
  { maxSummaryTokens }: CompressionPlan,
  { from, to, role }: NonNullable<CompressionPlan['summarizedRange']>,
  options: CompressionOptions,
  { focus, insights: collectInsights }: SummaryOptions,
  requestSummary: RequestSummary,
) {
  const replaced = entries.slice(from, to)
  const insights = await collectInsights(replaced.map(({ message }) => message))
  const { text, usage } = await requestSummary(
    buildSummaryRequest(replaced, { tokens: maxSummaryTokens, contextLength: options.contextLength, focus, insights }),
  )
  if (text.trim() === '') throw new UnusableSummaryError('it is empty')
  const parts = [text, ...addedParts(entries, { from, to }, options)]
  const message = buildSummaryMessage(role, parts.join('\n\n'))
  if (estimateTokens([message]) >= estimateTokens(replaced.map((entry) => entry.message)))
    throw new UnusableSummaryError('it is longer than the messages that it replaces')
  return { from, to, message, usage }
}

/** What follows a record: words of the user, and the list of steps. */
function addedParts(
  entries: readonly CompressionEntry[],
  { from, to }: MessageGroup,
  { summarizes }: Pick<CompressionOptions, 'summarizes'>,
): readonly string[] {
  const replaced = entries.slice(from, to)
  const steps = lastTodoList(entries.slice(to)) === undefined ? lastTodoList(replaced) : undefined
  const said = summarizes === 'turn' ? messagesOfUser(replaced) : ''
  return [...(said === '' ? [] : [said]), ...(steps === undefined ? [] : [`## List of steps\n${steps}`])]
}

/** Characters of each message. */
const maxSaidChars = 2_000

/** What the user has added while the turn ran may change its task, so its words are kept. */
function messagesOfUser(entries: readonly CompressionEntry[]): string {
  const said = entries.filter(({ message, isSummary }) => message.role === 'user' && isSummary !== true)
  if (said.length === 0) return ''
  const lines = said.map(({ message }) => JSON.stringify(beginningOf(message.content, maxSaidChars)))
  return `## What the user wrote meanwhile\n${lines.join('\n')}`
}
