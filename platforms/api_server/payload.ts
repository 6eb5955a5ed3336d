/**
 * Reading unknown JSON: small checks that name the field when something else is there.
 */
import { invalidParam } from './errors.ts'

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws `ApiError` 400. */
export function readString(value: unknown, at: string): string {
  if (typeof value !== 'string') throw invalidParam(at, `expected a string, found ${typeNameOf(value)}`)
  return value
}

/** Absent and null count as false. Throws `ApiError` 400. */
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
