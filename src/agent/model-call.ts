/**
 * One model call with its bounded retries. The vendors' own retries are off: only this loop waits and tries again.
 */
import type { Logger } from '../lib/log.ts'
import { backoffMs } from '../lib/wait.ts'
import {
  type Delta,
  type JsonObject,
  type ModelAnswer,
  ModelError,
  type ModelRequest,
  type Provider,
} from './provider.ts'

export interface ModelCallDeps {
  readonly provider: Provider
  readonly log: Logger
  readonly random: () => number
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
  readonly maxRetries: () => number
  /** The managed call around each attempt. */
  manage(
    request: ModelRequest,
    attempt: number,
    handler: (request: ModelRequest) => Promise<JsonObject>,
  ): Promise<JsonObject>
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

/** A vendor may ask for a long pause; beyond this the person is told instead. */
const longestWaitMs = 120_000

/**
 * Calls the model until it answers, cannot, or the retries are used up. `onText` gets the answer's text so far, and ''
 * when an attempt begins anew. Rejects with `ModelError`, or with the signal's reason when aborted.
 */
export async function callModel(
  deps: ModelCallDeps,
  request: ModelRequest,
  signal: AbortSignal,
  onText: (textSoFar: string) => void,
): Promise<ModelAnswer> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted()
    try {
      const response = await deps.manage(request, attempt, (effective) => streamOnce(deps, effective, signal, onText))
      return deps.provider.readAnswer(response)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError) || !error.retryable || attempt > deps.maxRetries()) throw error
      const waitMs = error.retryAfterMs ?? backoffMs(attempt, 1_000, 30_000, deps.random)
      if (waitMs > longestWaitMs) throw error
      deps.log.warn(
        { attempt, problem: error.problem, waitMs: Math.round(waitMs) },
        `model call failed, trying again: ${error.message}`,
      )
      onText('')
      await deps.pause(waitMs, signal)
    }
  }
}

async function streamOnce(
  { provider, probe }: ModelCallDeps,
  request: ModelRequest,
  signal: AbortSignal,
  onText: (textSoFar: string) => void,
): Promise<JsonObject> {
  const chunks = provider.stream(request, signal)
  let text = ''
  try {
    for (;;) {
      const next = await chunks.next()
      if (next.done) return next.value
      const delta: Delta | null = provider.readDelta(next.value)
      if (delta?.kind !== 'text') continue
      text += delta.text
      probe('agent:streaming')
      onText(text)
    }
  } finally {
    // After a throw in between nobody else would close the vendor's connection. Closing a finished stream does nothing.
    await chunks.return({})
  }
}
