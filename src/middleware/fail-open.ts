/**
 * What a frame of the chain knows of the rest of the call, and what becomes of the call when the frame itself fails open
 * (seed 000): nothing runs twice, a good result stays, a failure stays a failure.
 */
import type { CallRun } from './call-run.ts'
import { GuardrailRejected } from './guardrail-rejected.ts'
import { isAbortError } from './otel-status.ts'
import type { Entry } from './registry.ts'

export interface Downstream {
  /** The latest call of the rest; undefined while there was none. */
  readonly last: Promise<unknown> | undefined
  /** The latest result. */
  readonly result: { readonly value: unknown } | undefined
  /** How the latest call failed. */
  readonly failure: { readonly error: unknown } | undefined
}

/**
 * The result after a frame that fails open has thrown; `skip` runs the rest without it. A refusal is meant: it goes on in
 * any case, as `LLMExecutionBlocked` does upstream.
 */
export async function recoverFailOpen(
  run: CallRun,
  entry: Entry<unknown>,
  point: string,
  { last, result, failure }: Downstream,
  error: unknown,
  skip: () => Promise<unknown>,
): Promise<unknown> {
  if (error instanceof GuardrailRejected) throw error
  const report = (outcome: string) => run.context.failures.report(entry, point, error, outcome)
  if (last === undefined) {
    run.throwIfAborted(error)
    report('the call goes on without it')
    return skip()
  }
  if (result === undefined && failure === undefined) {
    report('the result of the call counts')
    return last
  }
  // It let the failure through, or put another in its place.
  if (result === undefined || isAbortError(error, run.signal)) throw error
  report('the result of the call stays')
  return result.value
}
