/**
 * Gives each turn a credential of its provider, and another one when the provider refuses it (contract agent.md S6).
 */
import type { Logger } from '../../lib/log.ts'
import { type CredentialFailure, concernsCredential, cooldownMs } from './cooldown.ts'
import { type Credential, healthy, isUsable } from './credential.ts'
import type { CredentialState } from './state.ts'
import { chooseCredential, type Strategy } from './strategy.ts'

export interface CredentialPoolDeps {
  readonly state: CredentialState
  strategyOf(provider: string): Strategy
  /** ms */
  readonly clock: () => number
  readonly random: () => number
  readonly log: Logger
}

export interface CredentialPool {
  /**
   * A credential for a turn; undefined when the provider has none at all. When all of them rest, the one that is usable soonest is
   * leased: the caller decides whether it tries it, waits or uses another provider.
   */
  lease(provider: string): CredentialLease | undefined
}

/** What a failed call means for the turn. */
export type Rotation =
  /** The failure has nothing to do with the credential, or the same one is tried again. */
  | 'same'
  /** The lease has another credential, which can be tried at once. */
  | 'rotated'
  /** No other credential of the provider can be used now. */
  | 'exhausted'

export interface CredentialLease {
  /** Of this moment. */
  readonly credential: Credential
  /** Changes `credential` when the provider refused it. */
  failed(failure: CredentialFailure): Rotation
  /** A call was answered. */
  succeeded(): void
  /** A call begins. The returned function is called once, when it has ended. */
  begin(): () => void
}

/** A rate limit that lasts longer than this is no reason to try the same key again, ms. */
const maxSameKeyWaitMs = 10_000

export function createCredentialPool({ state, strategyOf, clock, random, log }: CredentialPoolDeps): CredentialPool {
  /** Calls that are being made, by provider and id. */
  const calls = new Map<string, number>()
  const previous = new Map<string, string>()

  const inUse = (provider: string, id: string) => calls.get(`${provider}\n${id}`) ?? 0

  function count(provider: string, { id }: Credential, by: 1 | -1): void {
    const uses = inUse(provider, id) + by
    if (uses === 0) calls.delete(`${provider}\n${id}`)
    else calls.set(`${provider}\n${id}`, uses)
  }

  /** Undefined when none is usable now. */
  function choose(provider: string, candidates: readonly Credential[]): Credential | undefined {
    const now = clock()
    const usable = candidates.filter((one) => isUsable(one, now))
    return chooseCredential(usable, {
      strategy: strategyOf(provider),
      previous: previous.get(provider) ?? '',
      inUse: (id) => inUse(provider, id),
      random,
    })
  }

  function createLease(provider: string, first: Credential): CredentialLease {
    let credential = first
    /** The turn counts as one use of the credential. */
    let isCounted = false
    let rateLimits = 0

    function take(next: Credential): void {
      credential = next
      isCounted = false
      rateLimits = 0
      previous.set(provider, next.id)
    }

    function setHealth(health: Credential['health']): void {
      credential = { ...credential, health, requestCount: credential.requestCount + (isCounted ? 0 : 1) }
      isCounted = true
      state.change(provider, credential)
    }

    take(first)
    return {
      get credential() {
        return credential
      },
      failed(failure) {
        if (!concernsCredential(failure)) return 'same'
        rateLimits += failure.kind === 'rate-limit' ? 1 : 0
        const isShort = (failure.retryAfterMs ?? 0) <= maxSameKeyWaitMs
        if (failure.kind === 'rate-limit' && rateLimits === 1 && isShort) return 'same'
        const others = state
          .list(provider)
          .filter((one) => one.id !== credential.id && isUsable(one, Number.POSITIVE_INFINITY))
        const cooldownUntil = clock() + cooldownMs(failure, others.length === 0)
        const { kind, status = 0, message } = failure
        setHealth({ status: 'exhausted', cooldownUntil, errorCode: status, errorMessage: message })
        void state.flush()
        log.warn(
          { event: 'credentials.exhausted', provider, credential: credential.label, problem: kind, cooldownUntil },
          'a provider refused a key, which is not used for a while',
        )
        const next = choose(provider, others)
        if (next === undefined) return 'exhausted'
        take(next)
        return 'rotated'
      },
      succeeded() {
        rateLimits = 0
        const hasFailed = credential.health.status !== 'ok'
        if (isCounted && !hasFailed) return
        setHealth(hasFailed ? healthy : credential.health)
        if (hasFailed) void state.flush()
      },
      begin() {
        const used = credential
        count(provider, used, 1)
        return () => count(provider, used, -1)
      },
    }
  }

  return {
    lease(provider) {
      const all = state.list(provider).filter((one) => isUsable(one, Number.POSITIVE_INFINITY))
      const credential = choose(provider, all) ?? soonest(all)
      return credential === undefined ? undefined : createLease(provider, credential)
    },
  }
}

function soonest(credentials: readonly Credential[]): Credential | undefined {
  const [first, ...rest] = credentials
  if (first === undefined) return undefined
  return rest.reduce((best, one) => (one.health.cooldownUntil < best.health.cooldownUntil ? one : best), first)
}
