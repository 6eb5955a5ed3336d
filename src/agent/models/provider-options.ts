/**
 * What every provider that calls a vendor is built from.
 */

import { httpFetch } from './http-fetch.ts'
import type { FetchFunction } from './limit-error-body.ts'
import type { ProviderErrorContext } from './map-provider-error.ts'
import { defaultStreamLimits, type StreamLimits } from './stream-response.ts'

export interface ProviderOptions {
  /** '' where the server wants none. */
  readonly apiKey: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly limits: StreamLimits
  readonly fetch: FetchFunction
  /** Milliseconds since 1970, to read dates in `retry-after`. */
  readonly now: () => number
}

/** Options with everything that has a usual value filled in. */
export function createProviderOptions(
  given: Pick<ProviderOptions, 'apiKey' | 'baseUrl'> &
    Partial<Pick<ProviderOptions, 'fetch' | 'now'>> &
    Partial<StreamLimits>,
): ProviderOptions {
  return {
    apiKey: given.apiKey,
    baseUrl: given.baseUrl,
    limits: {
      idleTimeoutMs: given.idleTimeoutMs ?? defaultStreamLimits.idleTimeoutMs,
      maxChars: given.maxChars ?? defaultStreamLimits.maxChars,
    },
    fetch: given.fetch ?? httpFetch,
    now: given.now ?? Date.now,
  }
}

export function providerErrorContext(options: ProviderOptions): ProviderErrorContext {
  return { host: new URL(options.baseUrl).host, secrets: [options.apiKey], now: options.now }
}
