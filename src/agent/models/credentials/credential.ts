/**
 * A key of a provider, and what happened to it (contract agent.md S6). The secret of a key that comes from the environment or
 * the configuration is never stored: the entry in `auth.json` is only a reference to it.
 */
import { createHash } from 'node:crypto'

/** `env:NAME` and `config:KEY` are references. Hermes also knows `manual:…`, for example `manual:device_code`. */
export type CredentialSource = `env:${string}` | `config:${string}` | 'manual' | `manual:${string}`

export interface Credential {
  /** Unique within the provider; six hexadecimal digits for an entry of Hermes. */
  readonly id: string
  readonly label: string
  readonly authType: 'api_key' | 'oauth'
  /** The smallest one comes first. */
  readonly priority: number
  readonly source: CredentialSource
  /** '' for a reference whose variable has no value. */
  readonly secret: string
  /** The address of the provider's server; '' for the configured one. */
  readonly baseUrl: string
  readonly health: CredentialHealth
  /** Turns that used it. */
  readonly requestCount: number
}

export interface CredentialHealth {
  /** `dead`: the provider has revoked it for good. */
  readonly status: 'ok' | 'exhausted' | 'dead'
  /** The credential is not used before this time, ms; 0 for none. */
  readonly cooldownUntil: number
  /** The HTTP status of the last failure; 0 for none. */
  readonly errorCode: number
  /** Without secrets; '' for none. */
  readonly errorMessage: string
}

export const healthy: CredentialHealth = { status: 'ok', cooldownUntil: 0, errorCode: 0, errorMessage: '' }

export function isReference(source: string): boolean {
  return source.startsWith('env:') || source.startsWith('config:')
}

/** Tells whether the value behind a reference has changed. Too short to find the value by trying. */
export function fingerprintOf(secret: string): string {
  return createHash('sha256').update('hermes credential\0').update(secret).digest('hex').slice(0, 12)
}

/** A wrong clock, of a server or of this machine, must not take a credential out of use for years. */
export const maxCooldownMs = 7 * 24 * 60 * 60_000

/** When the rest of a credential ends, ms; 0 while it does not rest. A time that no rest can have is that of a wrong clock. */
export function restsUntil({ health: { cooldownUntil } }: Pick<Credential, 'health'>, now: number): number {
  return cooldownUntil > now && cooldownUntil <= now + maxCooldownMs ? cooldownUntil : 0
}

/** Whether it can be used at some time. */
export function isValid({ secret, health }: Credential): boolean {
  return secret !== '' && health.status !== 'dead'
}
