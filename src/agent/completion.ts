/**
 * One answer of the model beside a conversation: a managed call with its retries, of which no hook of a turn is told.
 */
import { askModel } from './ask-model.ts'
import type { ManagedModelDeps } from './managed-model.ts'
import type { RetryDeps } from './model-call.ts'
import { noPoints } from './no-points.ts'
import type { TurnFacts } from './points.ts'
import type { ModelAnswer, Provider, RequestInput } from './provider.ts'

export interface CompletionDeps extends RetryDeps, Omit<ManagedModelDeps, 'points'> {}

export interface Completion {
  readonly provider: Provider
  readonly input: RequestInput
  /** On whose behalf it is asked. */
  readonly turn: TurnFacts
  readonly signal: AbortSignal
}

/** Rejects with `ModelError`, with what a guardrail or a plugin throws, or with the signal's reason. */
export async function complete(deps: CompletionDeps, completion: Completion): Promise<ModelAnswer> {
  const asked = { ...deps, points: noPoints, refusal: () => null }
  const { answer } = await askModel(asked, { ...completion, iteration: 0, callsBefore: 0, onText: () => undefined })
  return answer
}
