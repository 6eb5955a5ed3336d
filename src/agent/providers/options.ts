/**
 * What every provider that calls a vendor is built from.
 */
import type { FetchFunction } from './bounded-fetch.ts'
import type { FaultContext } from './fault.ts'
import { httpFetch } from './http-fetch.ts'
import { type CallLimits, defaultLimits } from './stream-call.ts'

export interface ProviderOptions {
  /** '' where the server wants none. */
  readonly apiKey: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly limits: CallLimits
  readonly fetch: FetchFunction
  /** Milliseconds since 1970, to read dates in `retry-after`. */
  readonly now: () => number
}

/** Options with everything that has a usual value filled in. */
export function providerOptions(
  given: Pick<ProviderOptions, 'apiKey' | 'baseUrl'> &
    Partial<Pick<ProviderOptions, 'fetch' | 'now'>> &
    Partial<CallLimits>,
): ProviderOptions {
  return {
    apiKey: given.apiKey,
    baseUrl: given.baseUrl,
    limits: {
      idleTimeoutMs: given.idleTimeoutMs ?? defaultLimits.idleTimeoutMs,
      maxChars: given.maxChars ?? defaultLimits.maxChars,
    },
    fetch: given.fetch ?? httpFetch,
    now: given.now ?? Date.now,
  }
}

export function faultContext(options: ProviderOptions): FaultContext {
  return { host: new URL(options.baseUrl).host, secrets: [options.apiKey], now: options.now }
}
