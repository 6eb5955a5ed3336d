/**
 * The model call that writes a summary, and the rules by which a compression is planned. Shared by conversations, which are
 * stored, and by sub-agents, which are only in memory.
 */

import type { Auxiliary, AuxiliaryRequest } from '../models/auxiliary.ts'
import type { RequestSummary } from './compress-transcript.ts'
import type { CompressionConfig } from './config.ts'
import { compressionLimit } from './context-size.ts'
import type { CompressionOptions } from './plan.ts'

/** The share of the window that a request may fill after a compression. The rest is for the answer. */
const maxFilledShare = 0.9

/** A long conversation must shrink by at least this share, or each turn would compress it again. */
const minSavingsRatio = 0.1

export interface RuleFacts extends Pick<CompressionOptions, 'turnStart' | 'summarizes'> {
  /** The estimated tokens of the conversation. */
  readonly tokens: number
  /** The calibration factor: tokens that the provider counts per estimated token. */
  readonly ratio: number
  /** `long`: there is time. `overflow`: the provider has rejected the conversation. */
  readonly trigger: string
}

export function compressionRules(
  settings: CompressionConfig,
  { tokens, ratio, trigger, ...more }: RuleFacts,
): CompressionOptions {
  // The rejected request was longer than the window, whatever the configuration says.
  const contextLength =
    trigger === 'overflow' ? Math.min(settings.context_length, tokens * ratio) : settings.context_length
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

/** Tokens by which the next request is longer than it may be; at most 0 if it fits. @param remaining its tokens */
export function excessOf(remaining: number, { contextLength }: Pick<CompressionOptions, 'contextLength'>): number {
  return remaining - contextLength * maxFilledShare
}

/** The tokens that are kept of the newest messages. */
function tailTokens({ compression }: CompressionConfig, contextLength: number, limit: number): number {
  const { tail_mode, target_ratio } = compression
  if (tail_mode === 'legacy') return limit * target_ratio
  return Math.min(Math.max(contextLength * 0.025, 10_000), 25_000, contextLength * 0.2)
}

/** `auxiliary.compression` writes summaries, unless it names nothing but the model of the conversation. */
export function createSummaryRequest(
  {
    auxiliary,
    settings,
  }: { readonly auxiliary: Auxiliary; readonly settings: () => { readonly max_output_tokens?: number | undefined } },
  { turn, main, signal }: Required<Pick<AuxiliaryRequest, 'turn' | 'main' | 'signal'>>,
): RequestSummary {
  return async ({ system, messages }) => {
    const { max_output_tokens: maxOutputTokens } = settings()
    return await auxiliary('compression').complete({
      input: { system, messages, tools: [], maxOutputTokens },
      turn,
      main,
      storesUsage: true,
      signal,
    })
  }
}
