/**
 * Converts exceptions of Python callbacks into errors.
 */
import type { HostFailure } from '../../hosts/failure.ts'
import { HermesError } from '../../lib/errors.ts'
import { RaisedError } from '../../lib/raised-error.ts'

/** An exception of Python: `name` is the class, `stack` contains the traceback. */
export class PythonError extends RaisedError {
  constructor({ raised, origin, stack }: HostFailure) {
    super(raised?.message ?? '', origin)
    this.name = raised?.name ?? 'PythonError'
    this.stack = `${this.name}: ${this.message}\n${stack}`
  }
}

/** The error of a call: the same error object if Python did not catch it, the exception, or the failure of the process. */
export function toThrownError(failure: HostFailure, signal: AbortSignal | undefined): unknown {
  if ('thrown' in failure) return failure.thrown
  if (failure.kind === 'aborted' && signal?.aborted === true) return signal.reason
  return failure.raised === undefined ? failure.error : new PythonError(failure)
}

/** Whether the process failed, rather than the callback. */
export function isProcessError(error: unknown): boolean {
  return error instanceof HermesError && (error.code.startsWith('hosts/') || error.code === 'plugins/process-gone')
}

/** Why a plugin cannot be loaded. The stack of the cause starts with the location of the error. */
export function toUnloadableError({ kind, error, stack }: HostFailure, id: string): HermesError {
  const detail = error.detail.startsWith(`${id}: `) ? error.detail.slice(id.length + 2) : error.detail
  if (kind !== 'unloadable') return new HermesError('plugins/unloadable', error.message, { cause: error })
  const { location, text = detail } = /^(?<location>\/[^\n]*?:\d+): (?<text>[\s\S]*)$/.exec(detail)?.groups ?? {}
  const cause = new Error(text, { cause: error })
  if (location !== undefined) cause.stack = `${location}\n${stack}`
  return new HermesError('plugins/unloadable', text, { cause })
}
