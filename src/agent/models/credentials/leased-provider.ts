/**
 * A provider for one turn that sends the key of its lease, and another key after the provider has refused it.
 */
import type { Provider } from '../provider.ts'
import type { Credential } from './credential.ts'
import type { CredentialLease } from './pool.ts'

export interface LeasedProviderOptions {
  /** Undefined when the provider has no key. */
  lease(): CredentialLease | undefined
  /** The provider that sends this key. */
  providerWith(credential: Credential): Provider
  /** When a key can be used again, ms; 0 for now. */
  restsUntil(): number
}

/** @param base builds the requests and reads the responses; it sends them while there is no key */
export function createLeasedProvider(base: Provider, options: LeasedProviderOptions): Provider {
  let lease: CredentialLease | undefined
  /** Calls that run at the same time may send different keys. */
  const sentWith = new WeakMap<object, Credential>()
  return {
    ...base,
    async *stream(request, signal, sessionId) {
      lease ??= options.lease()
      if (lease === undefined) return yield* base.stream(request, signal, sessionId)
      const { credential } = lease
      const end = lease.begin()
      try {
        const response = yield* options.providerWith(credential).stream(request, signal, sessionId)
        lease.succeeded(credential)
        return response
      } catch (error) {
        if (typeof error === 'object' && error !== null) sentWith.set(error, credential)
        throw error
      } finally {
        end()
      }
    },
    rotate: (failure) => lease?.failed(failure, sentWith.get(failure)) === 'rotated',
    withOwnKey: () => createLeasedProvider(base, options),
    restsUntil: options.restsUntil,
  }
}
