/**
 * Gives each turn a credential of its provider, and another one when the provider refuses it (contract agent.md S6).
 */
import type { Logger } from '../../../lib/log.ts'
import { type CredentialFailure, concernsCredential, cooldownMs } from './cooldown.ts'
import { type Credential, healthy, isValid, restsUntil } from './credential.ts'
import type { CredentialState } from './state.ts'
import { chooseCredential, type Strategy } from './strategy.ts'

export interface CredentialPoolDeps {
  readonly state: CredentialState
  strategyOf(provider: string): Strategy
  /** ms */
  readonly clock: () => number
  readonly random: () => number
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
  readonly log: Logger
}

export interface CredentialPool {
  /**
   * A credential for a turn; undefined when the provider has none at all. When all of them rest, the one that is usable soonest is
   * leased: the caller decides whether it tries it, waits or uses another provider.
   */
  lease(provider: string): CredentialLease | undefined
  /** When the first credential of a provider can be used again, ms; 0 when one can be used now, or when there is none. */
  restsUntil(provider: string): number
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
  /** The credential to use now. */
  readonly credential: Credential
  /** Changes `credential` when the provider refused it. `used` is the one that the call sent. */
  failed(failure: CredentialFailure, used?: Credential): Rotation
  /** A call was answered that sent the key `used`. */
  succeeded(used?: Credential): void
  /** A call begins. The returned function is called once, when it has ended. */
  begin(): () => void
}

/** A rate limit that lasts longer than this is no reason to try the same key again, ms. */
const maxSameKeyWaitMs = 10_000

export function createCredentialPool(deps: CredentialPoolDeps): CredentialPool {
  const { state, strategyOf, clock, random, log } = deps
  /** Calls that are being made, by provider and id. */
  const calls = new Map<string, number>()
  const previous = new Map<string, string>()

  const inUse = (provider: string, id: string) => calls.get(`${provider}\n${id}`) ?? 0

  function count(provider: string, { id }: Credential, by: 1 | -1): void {
    const uses = inUse(provider, id) + by
    if (uses === 0) calls.delete(`${provider}\n${id}`)
    else calls.set(`${provider}\n${id}`, uses)
  }

  const listValid = (provider: string) => state.list(provider).filter(isValid)

  /** Undefined when none is usable now. `all` is sorted by priority. */
  function choose(provider: string, all: readonly Credential[], except?: ReadonlySet<string>): Credential | undefined {
    const now = clock()
    const usable = all.filter((credential) => except?.has(credential.id) !== true && restsUntil(credential, now) === 0)
    return chooseCredential(usable, {
      strategy: strategyOf(provider),
      order: all.map(({ id }) => id),
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
    /**
     * Refused since the last answer or wait. A rest can be shorter than the calls with the other keys, and rotations have no pause
     * between them.
     */
    const refused = new Set<string>()

    function take(next: Credential): void {
      credential = next
      isCounted = false
      rateLimits = 0
      previous.set(provider, next.id)
    }

    function record(health?: Credential['health']): void {
      const uses = isCounted ? 0 : 1
      isCounted = true
      credential = { ...credential, health: health ?? credential.health, requestCount: credential.requestCount + uses }
      state.change(provider, credential.id, { uses, health })
    }

    take(first)
    return {
      get credential() {
        return credential
      },
      failed(failure, used = credential) {
        if (!concernsCredential(failure)) return 'same'
        // A call that ran at the same time has changed the key.
        if (used.id !== credential.id) return 'rotated'
        rateLimits += failure.kind === 'rate-limit' ? 1 : 0
        const isShort = (failure.retryAfterMs ?? 0) <= maxSameKeyWaitMs
        if (failure.kind === 'rate-limit' && rateLimits === 1 && isShort) {
          refused.clear()
          return 'same'
        }
        const all = listValid(provider)
        const isSole = all.every(({ id }) => id === credential.id)
        const cooldownUntil = clock() + cooldownMs(failure, isSole)
        const { kind, status = 0, message } = failure
        record({ status: 'exhausted', cooldownUntil, errorCode: status, errorMessage: message })
        void state.flush()
        log.warn(
          { event: 'credentials.exhausted', provider, label: credential.label, problem: kind, cooldownUntil },
          'a provider refused a key, which is not used for a while',
        )
        const next = choose(provider, all, refused.add(credential.id))
        if (next === undefined) {
          refused.clear()
          return 'exhausted'
        }
        take(next)
        deps.failpoint?.('credentials:rotated')
        return 'rotated'
      },
      succeeded(used = credential) {
        if (used.id !== credential.id) return
        rateLimits = 0
        refused.clear()
        const hasFailed = credential.health.status !== 'ok'
        if (isCounted && !hasFailed) return
        record(hasFailed ? healthy : undefined)
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
      const all = listValid(provider)
      const credential = choose(provider, all) ?? soonest(all)
      return credential === undefined ? undefined : createLease(provider, credential)
    },
    restsUntil(provider) {
      const now = clock()
      const [first = 0, ...rest] = listValid(provider).map((credential) => restsUntil(credential, now))
      return Math.min(first, ...rest)
    },
  }
}

function soonest(credentials: readonly Credential[]): Credential | undefined {
  const [first, ...rest] = credentials
  if (first === undefined) return undefined
  return rest.reduce(
    (best, credential) => (credential.health.cooldownUntil < best.health.cooldownUntil ? credential : best),
    first,
  )
}
