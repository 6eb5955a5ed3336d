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

/** `instanceof` can throw for a proxy. */
export function isGuardrailRejected(error: unknown): error is GuardrailRejected {
  try {
    return error instanceof GuardrailRejected
  } catch {
    return false
  }
}

/** Why a guardrail rejected a call; null for any other error. */
export function rejectionReasonOf(error: unknown): string | null {
  return isGuardrailRejected(error) ? error.reason : null
}
