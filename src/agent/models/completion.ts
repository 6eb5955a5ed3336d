/**
 * A model call outside of a turn: a managed call with retries, without the hooks of a turn.
 */

import { noopAgentHooks, type TurnInfo } from '../support/agent-hooks.ts'
import type { ModelOutput, Provider, RequestInput } from './provider.ts'
import { requestModel } from './request-model.ts'
import type { RetryRules } from './retry-policy.ts'
import type { ModelCallDeps } from './run-model-call.ts'

/** Such a call calls no hooks. */
export type CompletionCalls = Omit<ModelCallDeps, 'agentHooks'>

export interface CompletionRequest {
  readonly provider: Provider
  readonly input: RequestInput
  /** The turn for which the call is made. */
  readonly turn: TurnInfo
  readonly signal: AbortSignal
  readonly retry: () => RetryRules
}

/** Rejects with `ModelError`, with what a guardrail or a plugin throws, or with the signal's reason. */
export async function complete(
  { middleware, log, clock, random, pause, failpoint }: CompletionCalls,
  { provider, turn, input, signal, retry }: CompletionRequest,
): Promise<ModelOutput> {
  const calls = { middleware, agentHooks: noopAgentHooks, log, clock, random, pause, failpoint }
  const { output } = await requestModel(calls, {
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
  })
  return output
}
