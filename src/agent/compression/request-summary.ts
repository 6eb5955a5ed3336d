/**
 * The model call that writes a summary, and the rules by which a compression is planned. Shared by conversations, which are
 * stored, and by sub-agents, which are only in memory.
 */
import type { TurnInfo } from '../agent-hooks.ts'
import type { AgentConfig } from '../config.ts'
import { type CompletionDeps, complete } from '../models/completion.ts'
import type { Provider } from '../models/provider.ts'
import { type RetryRules, retryRulesOf } from '../models/retry-policy.ts'
import type { RequestSummary } from './compress-transcript.ts'
import { compressionLimit } from './context-size.ts'
import type { CompressionOptions } from './plan.ts'

/** The share of the window that the newest results may fill, with everything before them. */
export const maxFilledShare = 0.9

/** A long conversation must shrink by at least this share, or each turn would compress it again. */
const minSavingsRatio = 0.1

export interface RuleFacts extends Pick<CompressionOptions, 'turnStart' | 'summarizes'> {
  /** Of the conversation, estimated. */
  readonly tokens: number
  /** Tokens that the provider counts for one that is estimated. */
  readonly ratio: number
  /** `long`: there is time. `overflow`: the provider has rejected the conversation. */
  readonly trigger: string
}

export function compressionRules(
  settings: AgentConfig,
  { tokens, ratio, trigger, ...more }: RuleFacts,
): CompressionOptions {
  // The rejected request was longer than the window, whatever the configuration says.
  const contextLength = trigger === 'overflow' ? Math.min(settings.context_length, tokens) : settings.context_length
  // The plan counts as it estimates.
  const limit = compressionLimit({ ...settings, context_length: contextLength }) / ratio
  const { protect_first_n, protect_last_n, min_tail_user_messages } = settings.compression
  return {
    ...more,
    contextLength,
    limit,
    tailTokens: tailTokens(settings, contextLength / ratio, limit),
    protectFirstMessages: protect_first_n,
    protectLastMessages: protect_last_n,
    minTailUserMessages: min_tail_user_messages,
    minTokensSaved: trigger === 'long' ? tokens * minSavingsRatio : 1,
  }
}

/** The tokens that are kept of the newest messages. */
function tailTokens({ compression }: AgentConfig, contextLength: number, limit: number): number {
  const { tail_mode, target_ratio } = compression
  if (tail_mode === 'legacy') return limit * target_ratio
  return Math.min(Math.max(contextLength * 0.025, 10_000), 25_000, contextLength * 0.2)
}

/** The model that writes summaries of conversations with this one. */
export function summaryModel({ auxiliary, compression }: AgentConfig, model: string): string {
  return auxiliary.compression.model || compression.summary_model || model
}

export interface SummaryCaller {
  /** Its model writes the summary. */
  readonly turn: TurnInfo
  readonly provider: Provider
  readonly signal: AbortSignal
}

/** A managed model call without a progress listener. */
export function createSummaryRequest(
  deps: Omit<CompletionDeps, 'retry'> & { readonly settings: () => AgentConfig },
  { turn, provider, signal }: SummaryCaller,
): RequestSummary {
  return async ({ system, messages }) => {
    const { max_output_tokens: maxOutputTokens } = deps.settings()
    const length = maxOutputTokens === undefined ? {} : { maxOutputTokens }
    const input = { model: turn.model, system, messages, tools: [], ...length }
    const { middleware, clock, failpoint, log, random, pause } = deps
    const retry = () => summaryRetryRules(deps.settings())
    return complete({ middleware, clock, failpoint, log, random, pause, retry }, { provider, input, turn, signal })
  }
}

/** The turn continues without a summary, so it does not wait for the end of an outage here. */
const maxSummaryRetryMs = 15_000

function summaryRetryRules({ agent }: AgentConfig): RetryRules {
  const { windowMs, maxRetries } = retryRulesOf(agent)
  return { windowMs: Math.min(windowMs, maxSummaryRetryMs), maxRetries }
}
