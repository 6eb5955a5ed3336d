/**
 * One answer of the model beside a conversation: a managed call with its retries, of which no hook of a turn is told.
 */

import type { TurnInfo } from '../agent-hooks.ts'
import { noopAgentHooks } from '../noop-agent-hooks.ts'
import type { ModelOutput, Provider, RequestInput } from './provider.ts'
import { requestModel } from './request-model.ts'
import type { RetryDeps } from './retry-model-call.ts'
import type { ModelCallDeps } from './run-model-call.ts'

export interface CompletionDeps extends RetryDeps, Omit<ModelCallDeps, 'agentHooks'> {}

export interface CompletionRequest {
  readonly provider: Provider
  readonly input: RequestInput
  /** On whose behalf it is asked. */
  readonly turn: TurnInfo
  readonly signal: AbortSignal
}

/** Rejects with `ModelError`, with what a guardrail or a plugin throws, or with the signal's reason. */
export async function complete(deps: CompletionDeps, completion: CompletionRequest): Promise<ModelOutput> {
  const asked = { ...deps, agentHooks: noopAgentHooks, rejectionReason: () => null }
  const { output } = await requestModel(asked, {
    ...completion,
    iteration: 0,
    previousCalls: 0,
    onText: () => undefined,
  })
  return output
}
