/**
 * What the configured effort means for a Claude model. Models up to 4.5 take a budget of tokens, later ones decide
 * themselves under an effort level, and each kind answers the other's setting with an error 400.
 */
import type { JsonObject, RequestInput } from '../provider.ts'

type Effort = NonNullable<RequestInput['reasoningEffort']>

const THINKING_BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 4096,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
}

/** Names up to 4.5: `claude-3-…`, `claude-sonnet-4-20250514`, `claude-opus-4-1`, `claude-haiku-4-5-20251001`. */
const MANUAL_THINKING_MODELS = /claude-(?:instant|[123]\b|(?:opus|sonnet|haiku)-4(?:-[0-5])?(?:$|-\d{8}|-latest|@|:))/
const FIRST_ADAPTIVE_MODELS = /claude-(?:opus|sonnet)-4-6/
const DEFAULT_THINKING_MODELS = /claude-(?!(?:opus|sonnet|haiku)-4)/

export interface ReasoningSettings {
  readonly fields: JsonObject
  readonly maxTokens: number
}

/**
 * The fields of the request for an effort. `mayThink` false leaves manual thinking out this once. "none" is never sent
 * as `disabled`, which some models refuse: thinking is left out, and models that think by themselves get a low effort.
 */
export function buildReasoningSettings(
  model: string,
  effort: Effort | undefined,
  maxTokens: number,
  canUseThinking: boolean,
): ReasoningSettings {
  if (effort === undefined) return { fields: {}, maxTokens }
  if (MANUAL_THINKING_MODELS.test(model)) {
    if (effort === 'none' || !canUseThinking) return { fields: {}, maxTokens }
    const budget = THINKING_BUDGETS[effort]
    // The budget counts against the limit; the answer keeps the room it had.
    return { fields: { thinking: { type: 'enabled', budget_tokens: budget } }, maxTokens: maxTokens + budget }
  }
  if (effort === 'none') {
    return { fields: DEFAULT_THINKING_MODELS.test(model) ? { output_config: { effort: 'low' } } : {}, maxTokens }
  }
  return {
    fields: { thinking: { type: 'adaptive' }, output_config: { effort: toAdaptiveEffort(model, effort) } },
    maxTokens,
  }
}

function toAdaptiveEffort(model: string, effort: Exclude<Effort, 'none'>): string {
  if (effort === 'minimal') return 'low'
  return effort === 'xhigh' && FIRST_ADAPTIVE_MODELS.test(model) ? 'high' : effort
}
