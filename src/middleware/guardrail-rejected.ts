/**
 * The error of a call that a guardrail rejected. Callers distinguish it from a failure.
 */
export class GuardrailRejected extends Error {
  /** Name of the guardrail. */
  readonly guardrail: string
  /** The reason that the guardrail returned. */
  readonly reason: string

  constructor(guardrail: string, reason: string) {
    super(`guardrail rejected: ${reason}`)
    this.name = 'GuardrailRejected'
    this.guardrail = guardrail
    this.reason = reason
  }
}

/** Why a guardrail rejected a call; null for any other error. */
export function rejectionReasonOf(error: unknown): string | null {
  return error instanceof GuardrailRejected ? error.reason : null
}
