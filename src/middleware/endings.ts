/**
 * How a call ended, in the words of OpenTelemetry that ATOF uses (`contract/middleware.md` §1.9).
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Fields } from './contract.ts'
import { GuardrailRejected } from './rejected.ts'

export const successMetadata: Fields = { 'otel.status_code': 'OK' }

export function failureMetadata(error: unknown, signal: AbortSignal): Fields {
  return {
    'otel.status_code': 'ERROR',
    'otel.status_description': messageOf(error),
    'error.type': typeOf(error, signal),
    'exception.type': classOf(error),
  }
}

/** The problems of model errors, which are known here by name alone. */
const upstream: Readonly<Record<string, string>> = {
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

function typeOf(error: unknown, signal: AbortSignal): string {
  if (isAbort(error, signal)) return 'cancelled'
  if (error instanceof GuardrailRejected) return 'guardrail_rejected'
  if (error instanceof HermesError && error.code === 'middleware/bad-return') return 'invalid_argument'
  const problem = typeof error === 'object' && error !== null && 'problem' in error ? error.problem : undefined
  return (typeof problem === 'string' ? upstream[problem] : undefined) ?? 'internal_error'
}

function classOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { name, constructor: type } = error
  // Either may be anything: errors are made by everybody.
  const ownClass = typeof type === 'function' ? type.name : 'Error'
  return ownClass === 'Error' ? String(name) : ownClass
}

/** Whether an error is the answer to an abort. */
export function isAbort(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (error === signal.reason || (error instanceof Error && error.name === 'AbortError'))
}
