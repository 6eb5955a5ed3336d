/**
 * The refusal of a guardrail, as an error that callers can tell from a failure.
 */
export class GuardrailRejected extends Error {
  /** The name it was registered with. */
  readonly guardrail: string
  /** In the guardrail's own words. */
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
