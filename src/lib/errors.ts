/**
 * The error classes of the project, and functions for errors of unknown type.
 */
import { type ErrorCode, errorCatalogue } from './error-catalogue.ts'

export interface HermesErrorOptions {
  readonly cause?: unknown
  /** Replaces the hint of the catalogue. */
  readonly hint?: string
}

/** An error with a stable code and a hint. `message` is the meaning of the catalogue, followed by the detail. */
export class HermesError extends Error {
  readonly code: ErrorCode
  readonly hint: string
  /** The meaning of the catalogue. */
  readonly meaning: string
  /** Details of this case, or ''. */
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

/** An error of one module, with a code of its own list and a message for people. It ends inside of the gateway. */
export class CodedError<Code extends string = string> extends Error {
  readonly code: Code

  constructor(code: Code, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

export function isHermesError(error: unknown, code?: ErrorCode): error is HermesError {
  return isError(error) && error instanceof HermesError && (code === undefined || error.code === code)
}

const transientCodes: ReadonlySet<string> = new Set<ErrorCode>(['store/full', 'store/locked', 'store/unavailable'])
const exhaustedDescriptors: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE'])

/** Whether the machine, not the operation, is the cause, so that the operation may succeed later. */
export function isTransientError(error: unknown): boolean {
  if (isHermesError(error)) return transientCodes.has(error.code)
  return exhaustedDescriptors.has(systemCode(error) ?? '')
}

/** The stack of an error, or ''. Never throws. */
export function stackOf(thrown: unknown): string {
  try {
    const stack: unknown = thrown instanceof Error ? thrown.stack : ''
    return typeof stack === 'string' ? stack : ''
  } catch {
    // A getter or a proxy threw, as in `messageOf`.
    return ''
  }
}

/** `instanceof` can throw for a proxy. */
function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/** The message of a thrown value of any type. Never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error))
      return typeof thrown === 'string' ? thrown : `a thrown value of type ${typeof thrown}`
    const message: unknown = thrown.message
    return typeof message === 'string' ? message : `an error whose message is of type ${typeof message}`
  } catch {
    // A getter or a proxy threw; its error is unrelated to the original one.
    return 'an error that cannot be read'
  }
}

/** Converts a thrown value to an Error, for example for `cause`. */
export function toError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(messageOf(thrown), { cause: thrown })
}

/** The `code` of a system error such as ENOENT, or `undefined`. */
export function systemCode(thrown: unknown): string | undefined {
  if (!isError(thrown) || !('code' in thrown)) return undefined
  return typeof thrown.code === 'string' ? thrown.code : undefined
}

/** Ends an exhaustive `switch`: a new member of the union is a compile error. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
