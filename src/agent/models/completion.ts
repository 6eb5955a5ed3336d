/**
 * A model call outside of a turn: a managed call with retries, without the hooks of a turn.
 */

import { noopAgentHooks, type TurnInfo } from '../support/agent-hooks.ts'
import type { ModelOutput, Provider, RequestInput } from './provider.ts'
import { type RetryDeps, requestModel } from './request-model.ts'
import type { RetryRules } from './retry-policy.ts'
import type { ModelCallDeps } from './run-model-call.ts'

export interface CompletionDeps extends RetryDeps, Omit<ModelCallDeps, 'agentHooks'> {
  readonly retry: () => RetryRules
}

export interface CompletionRequest {
  readonly provider: Provider
  readonly input: RequestInput
  /** The turn for which the call is made. */
  readonly turn: TurnInfo
  readonly signal: AbortSignal
}

/** Rejects with `ModelError`, with what a guardrail or a plugin throws, or with the signal's reason. */
export async function complete(deps: CompletionDeps, request: CompletionRequest): Promise<ModelOutput> {
  const { middleware, clock, failpoint, log, random, pause, retry } = deps
  const { provider, turn, input, signal } = request
  const { output } = await requestModel(
    {
      middleware,
      agentHooks: noopAgentHooks,
      clock,
      failpoint,
      log,
      random,
      pause,
      rejectionReason: () => null,
    },
    {
      provider,
      turn,
      iteration: 0,
      previousCalls: 0,
      input,
      signal,
      retry,
      outageSince: null,
      acceptsEmpty: true,
      onText: () => undefined,
    },
  )
  return output
}
