/**
 * A provider for one turn that sends the key of its lease, and another key after the provider has refused it.
 */
import type { Provider } from '../models/provider.ts'
import type { Credential } from './credential.ts'
import type { CredentialLease } from './pool.ts'

export interface LeasedProviderOptions {
  /** Undefined when the provider has no key. */
  lease(): CredentialLease | undefined
  /** The provider that sends this key. */
  providerWith(credential: Credential): Provider
}

/** @param base builds the requests and reads the responses; it sends them while there is no key */
export function createLeasedProvider(
  base: Provider,
  { lease: openLease, providerWith }: LeasedProviderOptions,
): Provider {
  let lease: CredentialLease | undefined
  return {
    ...base,
    async *stream(request, signal) {
      lease ??= openLease()
      if (lease === undefined) return yield* base.stream(request, signal)
      const end = lease.begin()
      try {
        const response = yield* providerWith(lease.credential).stream(request, signal)
        lease.succeeded()
        return response
      } finally {
        end()
      }
    },
    rotate: (failure) => lease?.failed(failure) === 'rotated',
  }
}
