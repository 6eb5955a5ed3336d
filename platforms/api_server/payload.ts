/**
 * Readers of untyped JSON. An error names the field and the type that was found.
 */
import { invalidParam } from './errors.ts'

/** Throws `ApiError` 400. */
export function readString(value: unknown, at: string): string {
  if (typeof value !== 'string') throw invalidParam(at, `expected a string, found ${typeNameOf(value)}`)
  return value
}

/** A missing value and `null` count as `false`. Throws `ApiError` 400. */
export function readBoolean(value: unknown, at: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') throw invalidParam(at, `expected true or false, found ${typeNameOf(value)}`)
  return value
}

function typeNameOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
