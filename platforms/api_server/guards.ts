/**
 * Reading unknown JSON: small checks that name the field when something else is there.
 */
import { invalid } from './api-error.ts'

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Throws `ApiError` 400. */
export function readString(value: unknown, at: string): string {
  if (typeof value !== 'string') throw invalid(at, `expected a string, found ${kindOf(value)}`)
  return value
}

/** Absent and null count as false. Throws `ApiError` 400. */
export function readFlag(value: unknown, at: string): boolean {
  if (value === undefined || value === null) return false
  if (typeof value !== 'boolean') throw invalid(at, `expected true or false, found ${kindOf(value)}`)
  return value
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
