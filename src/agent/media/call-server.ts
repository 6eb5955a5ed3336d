/**
 * Calls a server with the keys of its provider: another key after a refusal, and another try after a failure that passes.
 */
import type { CredentialFailure } from '../models/credentials/cooldown.ts'
import { ModelError } from '../models/provider.ts'
import { MediaProviderError } from './media-provider-error.ts'

/** The keys of one provider, for one task. */
export interface ServerKeys {
  /** Without a trailing slash. */
  baseUrl(): string
  /** The key of this moment; '' for none. */
  secret(): string
  /** True: the next call uses another key. */
  rotate(failure: CredentialFailure): boolean
  succeeded(): void
}

export interface CallOptions {
  readonly keys: ServerKeys
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  readonly signal: AbortSignal
  /** Each result is paid for: a call is repeated only where the server has certainly made nothing. */
  readonly isCostly?: boolean
}

const maxTries = 3
const maxWaitMs = 20_000

/** Rejects with `MediaProviderError`, or with the reason of the signal. */
export async function callServer<T>(
  { keys, sleep, signal, isCostly = false }: CallOptions,
  call: (baseUrl: string, secret: string) => Promise<T>,
): Promise<T> {
  for (let tries = 1, rotations = 0; ; ) {
    try {
      const result = await call(keys.baseUrl(), keys.secret())
      keys.succeeded()
      return result
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError)) throw error
      if (keys.rotate(error) && rotations++ < maxRotations) continue
      const waitMs = error.retryAfterMs ?? 1_000 * 2 ** tries
      if (!passes(error, isCostly) || tries++ >= maxTries || waitMs > maxWaitMs) throw toFailure(error)
      await sleep(waitMs, signal)
      signal.throwIfAborted()
    }
  }
}

const maxRotations = 20

/** A server that took its whole time would take it again. */
function passes({ kind, maxTries, status }: ModelError, isCostly: boolean): boolean {
  if (isCostly && kind !== 'rate-limit' && status !== 503) return false
  return maxTries > 1 && (kind === 'rate-limit' || kind === 'overloaded' || kind === 'network')
}

function toFailure(error: ModelError): MediaProviderError {
  const { kind, message } = error
  const words = message.charAt(0).toLowerCase() + message.slice(1)
  if (kind === 'content-filter')
    return new MediaProviderError('refused', `the provider refuses it because of its rules for content (${words})`, {
      cause: error,
    })
  if (kind === 'timeout') return new MediaProviderError('timeout', words, { cause: error })
  if (kind === 'context') return new MediaProviderError('too-large', `it is too large for the provider (${words})`)
  return new MediaProviderError('failed', words, { cause: error })
}
