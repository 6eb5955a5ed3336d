/**
 * An error as a person reads it: its message, a hint and its code.
 */
import { missingPackageAdvice } from '../packages/missing-package.mjs'
import { isHermesError, messageOf } from './errors.ts'
import { stripControlCharacters } from './visible-text.ts'

/** The message; for a `HermesError` also a line with the hint and the code. Without control characters. */
export function describeError(error: unknown): string {
  if (isHermesError(error)) return stripControlCharacters(`${messageOf(error)}\n${error.hint} (${error.code})`)
  return stripControlCharacters(missingPackageAdvice(error) ?? messageOf(error))
}
