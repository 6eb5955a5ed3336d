/**
 * What callbacks in Python raise, as errors here.
 */
import type { HostFailure } from '../../hosts/failure.ts'
import { HermesError } from '../../lib/errors.ts'

/** Raised in Python: `name` is the class, the stack is the traceback. */
export class PythonError extends Error {
  constructor({ raised, stack }: HostFailure) {
    super(raised?.message ?? '')
    this.name = raised?.name ?? 'PythonError'
    this.stack = `${this.name}: ${this.message}\n${stack}`
  }
}

/** What a call has failed with: the very error of ours that Python let through, what it raised, or what happened to it. */
export function toThrownError(failure: HostFailure, signal: AbortSignal | undefined): unknown {
  if ('thrown' in failure) return failure.thrown
  if (failure.kind === 'aborted' && signal?.aborted === true) return signal.reason
  return failure.raised === undefined ? failure.error : new PythonError(failure)
}

/** Whether it says that the callback could not be carried out, rather than what it made of the call. */
export function isProcessError(error: unknown): boolean {
  return error instanceof HermesError && (error.code.startsWith('hosts/') || error.code === 'plugins/process-gone')
}

/** Why a plugin cannot be loaded; its cause stands where the mistake is. */
export function toUnloadableError({ kind, error, stack }: HostFailure, id: string): HermesError {
  const detail = error.detail.startsWith(`${id}: `) ? error.detail.slice(id.length + 2) : error.detail
  if (kind !== 'unloadable') return new HermesError('plugins/unloadable', error.message, { cause: error })
  const { place: location, text = detail } = /^(?<place>\/[^\n]*?:\d+): (?<text>[\s\S]*)$/.exec(detail)?.groups ?? {}
  const cause = new Error(text, { cause: error })
  if (location !== undefined) cause.stack = `${location}\n${stack}`
  return new HermesError('plugins/unloadable', text, { cause })
}
