/**
 * Compresses a conversation (contract §4.3): makes a plan, requests a summary of the older part from the model, and
 * returns the replacements. It writes nothing.
 */
import { beginningOf } from '../../lib/redact.ts'
import { type ChatMessage, noUsage, type Usage } from '../../message/transcript.ts'
import { estimateTokens } from './context-size.ts'
import {
  type CompressionEntry,
  type CompressionOptions,
  type CompressionPlan,
  clearToolResult,
  planCompression,
} from './plan.ts'
import { buildSummaryMessage, buildSummaryRequest, lastTodoList, type SummaryRequest } from './summary-prompt.ts'

/** One model call without tools. Rejects as the model does. */
export type RequestSummary = (request: SummaryRequest) => Promise<{ readonly text: string; readonly usage: Usage }>

export interface CompressionResult {
  /** Tool results whose content is replaced. */
  readonly clearedResults: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** The message that replaces a range. It takes the ordinal of the last message in the range. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage }
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
    ...(summary === undefined ? {} : { summary: { from: summary.from, to: summary.to, message: summary.message } }),
    usage: summary?.usage ?? noUsage,
    tokensBefore: estimateTokens(before),
    tokensAfter: estimateTokens(after),
  }
}

async function summarize(
  entries: readonly CompressionEntry[],
  { maxSummaryTokens }: CompressionPlan,
  { from, to, role }: NonNullable<CompressionPlan['summarizedRange']>,
  { contextLength, summarizes }: CompressionOptions,
  { focus, insights: collectInsights }: SummaryOptions,
  requestSummary: RequestSummary,
) {
  const replaced = entries.slice(from, to)
  const insights = await collectInsights(replaced.map(({ message }) => message))
  const { text, usage } = await requestSummary(
    buildSummaryRequest(replaced, { tokens: maxSummaryTokens, contextLength, focus, insights }),
  )
  if (text.trim() === '') throw new UnusableSummaryError('it is empty')
  const steps = lastTodoList(entries.slice(to)) === undefined ? lastTodoList(replaced) : undefined
  const said = summarizes === 'turn' ? messagesOfUser(replaced) : ''
  const parts = [text, ...(said === '' ? [] : [said]), ...(steps === undefined ? [] : [`## List of steps\n${steps}`])]
  const message = buildSummaryMessage(role, parts.join('\n\n'))
  if (estimateTokens([message]) >= estimateTokens(replaced.map((entry) => entry.message)))
    throw new UnusableSummaryError('it is longer than the messages that it replaces')
  return { from, to, message, usage }
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
