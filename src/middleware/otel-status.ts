/**
 * How a call ended, in the words of OpenTelemetry that ATOF uses (`contract/middleware.md` §1.9).
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Fields } from './contract.ts'
import { GuardrailRejected } from './guardrail-rejected.ts'

export const successMetadata: Fields = { 'otel.status_code': 'OK' }

export function failureMetadata(error: unknown, signal: AbortSignal): Fields {
  return {
    'otel.status_code': 'ERROR',
    'otel.status_description': messageOf(error),
    'error.type': errorTypeOf(error, signal),
    'exception.type': exceptionTypeOf(error),
  }
}

/** The kinds of `ModelError`. The class is recognised by name, because this module does not import the agent. */
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
  if (error instanceof GuardrailRejected) return 'guardrail_rejected'
  if (error instanceof HermesError && error.code === 'middleware/bad-return') return 'invalid_argument'
  const kind = error instanceof Error && error.name === 'ModelError' && 'kind' in error ? error.kind : undefined
  return (typeof kind === 'string' ? errorTypeByFailureKind[kind] : undefined) ?? 'internal_error'
}

function exceptionTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return typeof error
  const { name, constructor: type } = error
  // Either may be anything: errors are made by everybody.
  const ownClass = typeof type === 'function' ? type.name : 'Error'
  return ownClass === 'Error' ? String(name) : ownClass
}

/** Whether an error is the answer to an abort. */
export function isAbortError(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && (error === signal.reason || (error instanceof Error && error.name === 'AbortError'))
}
