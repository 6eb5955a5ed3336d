/**
 * Failures: which registration caused an error, how it is logged, and how events describe it.
 */

import { createLruCache } from '../lib/cache.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Fields } from './contract.ts'
import { isGuardrailRejected } from './guardrail-rejected.ts'

export interface FailureReporter {
  /** `effect` says how the call or the event continues. Repetitions are logged at debug level. Never throws. */
  report(origin: ErrorOrigin, point: string, error: unknown, effect: string): void
}

/** The registration that threw an error. */
export interface ErrorOrigin {
  readonly name: string
  readonly plugin: string | undefined
}

const maxRemembered = 1_000

export function createFailureReporter(log: Logger): FailureReporter {
  const reported = createLruCache<true>(maxRemembered)
  return {
    report({ name, plugin }, point, error, effect) {
      const key = JSON.stringify([plugin, name, point, messageOf(error)])
      const level = reported.has(key) ? 'debug' : 'warn'
      reported.set(key, true)
      log[level](
        { event: 'middleware.callback_failed', plugin, name, point, err: error },
        `a middleware callback failed; ${effect}`,
      )
    },
  }
}

/** `"cap" of the plugin "budget"`, for texts that people read. */
export function describeOrigin({ name, plugin }: ErrorOrigin): string {
  return plugin === undefined ? `"${name}"` : `"${name}" of the plugin "${plugin}"`
}

export interface ErrorOrigins {
  /** Called by each stage that an error passes, innermost first. `undefined`: the tool or the provider threw it. */
  record(error: unknown, origin: ErrorOrigin | undefined): void
  /** The registration that threw the error. Null for errors of tools and providers, and for values that are not objects. */
  describe(error: unknown): string | null
}

/** Callers receive the very object that was thrown, so its origin is stored beside it. */
export function createErrorOrigins(): ErrorOrigins {
  const originByError = new WeakMap<object, ErrorOrigin | null>()
  return {
    record(error, origin) {
      // The first stage that sees an error threw it; the later ones only passed it on.
      if (typeof error === 'object' && error !== null && !originByError.has(error))
        originByError.set(error, origin ?? null)
    },
    describe(error) {
      const origin = typeof error === 'object' && error !== null ? originByError.get(error) : undefined
      return origin ? describeOrigin(origin) : null
    },
  }
}

/** Event metadata of a call that succeeded, with the keys of OpenTelemetry (`contract/middleware.md` §1.9). */
export const successMetadata: Fields = { 'otel.status_code': 'OK' }

/** Never throws, whatever a plugin has thrown. */
export function failureMetadata(error: unknown, signal: AbortSignal): Fields {
  return {
    'otel.status_code': 'ERROR',
    'otel.status_description': messageOf(error),
    ...typesOf(error, signal),
  }
}

function typesOf(error: unknown, signal: AbortSignal): Fields {
  try {
    return { 'error.type': errorTypeOf(error, signal), 'exception.type': exceptionTypeOf(error) }
  } catch {
    // A getter or a proxy threw; its error is unrelated to that of the call.
    return { 'error.type': 'internal_error', 'exception.type': typeof error }
  }
}

/** By the `kind` of a `ModelError`. The class is recognised by its name, because this module does not import the agent. */
const errorTypeByFailureKind: Readonly<Record<string, string>> = {
  'rate-limit': 'retryable_status',
  overloaded: 'retryable_status',
  network: 'connection_error',
  timeout: 'timeout',
  auth: 'authentication',
  billing: 'upstream_error',
  context: 'context_window',
  'invalid-request': 'invalid_request',
  'bad-response': 'upstream_error',
}

function errorTypeOf(error: unknown, signal: AbortSignal): string {
  if (isAbortError(error, signal)) return 'cancelled'
  if (isGuardrailRejected(error)) return 'guardrail_rejected'
  if (error instanceof HermesError && error.code === 'middleware/bad-return') return 'invalid_argument'
  const kind = error instanceof Error && error.name === 'ModelError' && 'kind' in error ? error.kind : undefined
  return (typeof kind === 'string' ? errorTypeByFailureKind[kind] : undefined) ?? 'internal_error'
}

function exceptionTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { name, constructor: type } = error
  // Either may have any type, because plugins throw what they like.
  const ownClass = typeof type === 'function' ? type.name : 'Error'
  return ownClass === 'Error' ? String(name) : ownClass
}

/** Whether an abort caused the error. */
export function isAbortError(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (error === signal.reason || hasAbortName(error))
}

function hasAbortName(error: unknown): boolean {
  try {
    return error instanceof Error && error.name === 'AbortError'
  } catch {
    // A getter or a proxy threw: the error of a plugin, not of an abort.
    return false
  }
}
