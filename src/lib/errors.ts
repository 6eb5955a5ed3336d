/**
 * The one error class of the project, and the small tools to look at unknown errors.
 */
import { type ErrorCode, errorCatalogue } from './error-catalogue.ts'

export interface HermesErrorOptions {
  readonly cause?: unknown
  /** Replaces the hint of the catalogue where the place of the error knows a better one. */
  readonly hint?: string
}

/** An error with a stable code and advice. `message` = the catalogue's meaning, then the detail. */
export class HermesError extends Error {
  readonly code: ErrorCode
  readonly hint: string
  /** What happened, in the catalogue's words. */
  readonly meaning: string
  /** What is special about this case; '' when the meaning says it all. */
  readonly detail: string

  constructor(code: ErrorCode, detail = '', options: HermesErrorOptions = {}) {
    const { meaning, hint } = errorCatalogue[code]
    super(
      detail === '' ? meaning : `${meaning} ${detail}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'HermesError'
    this.code = code
    this.meaning = meaning
    this.detail = detail
    this.hint = options.hint ?? hint
  }
}

export function isHermesError(error: unknown, code?: ErrorCode): error is HermesError {
  return isError(error) && error instanceof HermesError && (code === undefined || error.code === code)
}

/** Where it was thrown, as the runtime tells it; '' for what is no error. Never throws. */
export function stackOf(thrown: unknown): string {
  try {
    const stack: unknown = thrown instanceof Error ? thrown.stack : ''
    return typeof stack === 'string' ? stack : ''
  } catch {
    // As in `messageOf`.
    return ''
  }
}

/** Proxies may throw at the question alone. */
function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/** The text of anything that was thrown, Error or not. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error))
      return typeof thrown === 'string' ? thrown : `a thrown value of type ${typeof thrown}`
    const message: unknown = thrown.message
    return typeof message === 'string' ? message : `an error whose message is of type ${typeof message}`
  } catch {
    // A getter or a proxy; what it throws says nothing about what had gone wrong.
    return 'an error that cannot be read'
  }
}

/** Anything thrown as an Error, so that it can be a cause. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown })
}

/** The `code` of system errors such as ENOENT; undefined where there is none. */
export function systemCode(thrown: unknown): string | undefined {
  if (!isError(thrown) || !('code' in thrown)) return undefined
  return typeof thrown.code === 'string' ? thrown.code : undefined
}

/** Closes an exhaustive `switch`: a new member of the union becomes a compile error here. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
