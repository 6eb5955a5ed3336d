/**
 * Makes a shorter conversation of a long one (contract §4.3): plans, has the older part summed up by one call of the
 * model, and says which lines take the place of which. Knows no platform and no database, and writes nothing.
 */
import { type ChatMessage, noUsage, type Usage } from '../../message/transcript.ts'
import { estimateTokens } from './estimate-tokens.ts'
import {
  type CompressionEntry,
  type CompressionOptions,
  type CompressionPlan,
  clearToolResult,
  planCompression,
} from './plan.ts'
import { buildSummaryMessage, buildSummaryRequest, lastTodoArguments, type SummaryRequest } from './summary-prompt.ts'

/** One call of the model, without tools. Rejects as the model does. */
export type RequestSummary = (request: SummaryRequest) => Promise<{ readonly text: string; readonly usage: Usage }>

export interface CompressionResult {
  /** Lines that stay where they are with another text. */
  readonly clearedResults: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** Lines that one message replaces; it takes the place of the last of them. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage }
  /** Of the summary. */
  readonly usage: Usage
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** The model answered, and its answer is no summary. */
export class UnusableSummaryError extends Error {
  constructor(why: string) {
    super(`the summary cannot be used: ${why}`)
    this.name = 'UnusableSummaryError'
  }
}

export interface SummaryOptions {
  /** What the person who asks for it wants to be kept; '' without a wish. */
  readonly focus: string
  /** What a store of memory wants to see in it; '' for nothing. Asked once it is known what goes. Never rejects. */
  insights(messages: readonly ChatMessage[]): Promise<string>
}

/** Undefined: there is nothing to win. Rejects as `ask` does, or with `SummaryUnusable`. */
export async function compressTranscript(
  entries: readonly CompressionEntry[],
  rules: CompressionOptions,
  options: SummaryOptions,
  requestSummary: RequestSummary,
): Promise<CompressionResult | undefined> {
  const plan = planCompression(entries, rules)
  if (plan === undefined) return undefined
  const before = entries.map(({ message }) => message)
  const summary =
    plan.summarizedRange === undefined
      ? undefined
      : await summarize(entries, plan, plan.summarizedRange, rules, options, requestSummary)
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
  lines: readonly CompressionEntry[],
  { maxSummaryTokens }: CompressionPlan,
  { from, to, role }: NonNullable<CompressionPlan['summarizedRange']>,
  { contextLength }: CompressionOptions,
  { focus, insights: collectInsights }: SummaryOptions,
  requestSummary: RequestSummary,
) {
  const replaced = lines.slice(from, to)
  const insights = await collectInsights(replaced.map(({ message }) => message))
  const { text, usage } = await requestSummary(
    buildSummaryRequest(replaced, { tokens: maxSummaryTokens, contextLength, focus, insights }),
  )
  if (text.trim() === '') throw new UnusableSummaryError('it is empty')
  const steps = lastTodoArguments(lines.slice(to)) === undefined ? lastTodoArguments(replaced) : undefined
  const message = buildSummaryMessage(role, steps === undefined ? text : `${text}\n\n## List of steps\n${steps}`)
  if (estimateTokens([message]) >= estimateTokens(replaced.map((line) => line.message)))
    throw new UnusableSummaryError('it is longer than what it replaces')
  return { from, to, message, usage }
}
