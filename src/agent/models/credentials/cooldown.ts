/**
 * How long a credential rests after a failure (contract agent.md S6): 401 five minutes, 402 and 429 one hour, 429 of a sole
 * credential one minute. A time that the provider sends takes precedence.
 */
import type { ModelErrorKind } from '../provider.ts'
import { maxCooldownMs } from './credential.ts'

export interface CredentialFailure {
  readonly kind: ModelErrorKind
  /** The HTTP status. */
  readonly status?: number | undefined
  /** What the provider requested, ms from now. */
  readonly retryAfterMs?: number | undefined
  /** Without secrets. */
  readonly message: string
}

const minute = 60_000
const hour = 60 * minute

/** Whether another credential of the same provider can help. */
export function concernsCredential({ kind }: Pick<CredentialFailure, 'kind'>): boolean {
  return kind === 'auth' || kind === 'billing' || kind === 'rate-limit'
}

/**
 * @param isSole no other credential of the provider can be used at any time
 * @returns ms
 */
export function cooldownMs(
  { kind, retryAfterMs }: Pick<CredentialFailure, 'kind' | 'retryAfterMs'>,
  isSole: boolean,
): number {
  if (retryAfterMs !== undefined && retryAfterMs > 0) return Math.min(retryAfterMs, maxCooldownMs)
  if (kind === 'auth') return 5 * minute
  // An account without credit does not recover within a minute.
  return isSole && kind === 'rate-limit' ? minute : hour
}
