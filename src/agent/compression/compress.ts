/**
 * Makes a shorter conversation of a long one (contract §4.3): plans, has the older part summed up by one call of the
 * model, and says which lines take the place of which. Knows no platform and no database, and writes nothing.
 */
import { type ChatMessage, noUsage, type Usage } from '../../message/transcript.ts'
import { tokensIn } from './estimate.ts'
import { type Plan, type PlanLine, type PlanRules, planCompression, withoutResult } from './plan.ts'
import { lastSteps, type SummaryRequest, summaryMessage, summaryRequest } from './summary.ts'

/** One call of the model, without tools. Rejects as the model does. */
export type AskForSummary = (request: SummaryRequest) => Promise<{ readonly text: string; readonly usage: Usage }>

export interface Compressed {
  /** Lines that stay where they are with another text. */
  readonly cleared: readonly { readonly at: number; readonly message: ChatMessage }[]
  /** Lines that one message replaces; it takes the place of the last of them. */
  readonly summary?: { readonly from: number; readonly to: number; readonly message: ChatMessage }
  /** Of the summary. */
  readonly usage: Usage
  readonly tokensBefore: number
  readonly tokensAfter: number
}

/** The model answered, and its answer is no summary. */
export class SummaryUnusable extends Error {
  constructor(why: string) {
    super(`the summary cannot be used: ${why}`)
    this.name = 'SummaryUnusable'
  }
}

export interface SummaryWishes {
  /** What the person who asks for it wants to be kept; '' without a wish. */
  readonly focus: string
  /** What a store of memory wants to see in it; '' for nothing. Asked once it is known what goes. Never rejects. */
  insights(messages: readonly ChatMessage[]): Promise<string>
}

/** Undefined: there is nothing to win. Rejects as `ask` does, or with `SummaryUnusable`. */
export async function compress(
  lines: readonly PlanLine[],
  rules: PlanRules,
  wishes: SummaryWishes,
  ask: AskForSummary,
): Promise<Compressed | undefined> {
  const plan = planCompression(lines, rules)
  if (plan === undefined) return undefined
  const before = lines.map(({ message }) => message)
  const summed = plan.middle === undefined ? undefined : await sumUp(lines, plan, plan.middle, rules, wishes, ask)
  const cleared = plan.cleared.flatMap((at) => {
    const message = before[at]
    return message === undefined ? [] : [{ at, message: withoutResult(message) }]
  })
  const changed = new Map(cleared.map(({ at, message }) => [at, message]))
  const after = before.flatMap((message, at) => {
    if (summed === undefined || at < summed.from || at >= summed.to) return [changed.get(at) ?? message]
    return at === summed.from ? [summed.message] : []
  })
  return {
    cleared,
    ...(summed === undefined ? {} : { summary: { from: summed.from, to: summed.to, message: summed.message } }),
    usage: summed?.usage ?? noUsage,
    tokensBefore: tokensIn(before),
    tokensAfter: tokensIn(after),
  }
}

async function sumUp(
  lines: readonly PlanLine[],
  { summaryTokens }: Plan,
  { from, to, role }: NonNullable<Plan['middle']>,
  { contextLength }: PlanRules,
  { focus, insights: wanted }: SummaryWishes,
  ask: AskForSummary,
) {
  const replaced = lines.slice(from, to)
  const insights = await wanted(replaced.map(({ message }) => message))
  const { text, usage } = await ask(summaryRequest(replaced, { tokens: summaryTokens, contextLength, focus, insights }))
  if (text.trim() === '') throw new SummaryUnusable('it is empty')
  const steps = lastSteps(lines.slice(to)) === undefined ? lastSteps(replaced) : undefined
  const message = summaryMessage(role, steps === undefined ? text : `${text}\n\n## List of steps\n${steps}`)
  if (tokensIn([message]) >= tokensIn(replaced.map((line) => line.message)))
    throw new SummaryUnusable('it is longer than what it replaces')
  return { from, to, message, usage }
}
