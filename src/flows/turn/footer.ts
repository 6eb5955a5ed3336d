/**
 * The line below an answer: the model, the tokens and the duration of the turn, and the use of the context. Loaded for
 * conversations that show it.
 */
import { formatDuration } from '../../lib/duration.ts'
import { formatCost } from '../../lib/format-cost.ts'
import { addUsage, type Usage, unpricedTokens } from '../../message/transcript.ts'
import type { FooterField } from './config.ts'

export interface FooterFacts {
  readonly model: string
  /** The usage of the earlier responses of the turn. */
  readonly earlierUsage: Usage
  /** The usage of the last response. */
  readonly usage: Usage
  /** ms */
  readonly duration: number
  /** In tokens. */
  readonly contextLength: number
}

/** Markdown; '' without fields. */
export function formatFooter(fields: readonly FooterField[], facts: FooterFacts): string {
  const parts = fields.map((field) => formatters[field](facts)).filter((part) => part !== '')
  return parts.length === 0 ? '' : `\n\n*${parts.join(' · ')}*`
}

const formatters: Readonly<Record<FooterField, (facts: FooterFacts) => string>> = {
  model: ({ model }) => model.replace(/[*_`\n]/g, ' ').trim(),
  tokens({ usage, earlierUsage }) {
    const { inputTokens, outputTokens } = addUsage(usage, earlierUsage)
    return `${inputTokens.toLocaleString('en')} + ${outputTokens.toLocaleString('en')} tokens`
  },
  cost({ usage, earlierUsage }) {
    const sum = addUsage(usage, earlierUsage)
    const tokens = sum.inputTokens + sum.outputTokens
    const cost = formatCost({ tokens, unpricedTokens: unpricedTokens(sum), cost: sum.cost ?? 0 })
    return tokens === 0 ? '' : cost === 'unknown' ? 'cost unknown' : cost
  },
  duration: ({ duration }) => (duration < 10_000 ? `${(duration / 1_000).toFixed(1)} s` : formatDuration(duration)),
  context_pct({ usage: { inputTokens, outputTokens }, contextLength }) {
    return `${Math.min(100, Math.round(((inputTokens + outputTokens) / contextLength) * 100))} % of the context`
  },
}
