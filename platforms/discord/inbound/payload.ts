/**
 * Readers of payloads. A value that is missing, or has another type than documented, counts as absent.
 */
import { asRecord, isRecord } from '#sdk'

export type JsonRecord = Readonly<Record<string, unknown>>

/** One event of Discord's gateway. */
export interface Dispatch {
  readonly t: string
  readonly s: number
  readonly d: JsonRecord
}

export { asRecord, isRecord }

export function recordAt(of: JsonRecord | undefined, key: string): JsonRecord | undefined {
  const value = valueAt(of, key)
  return isRecord(value) ? value : undefined
}

export function textAt(of: JsonRecord | undefined, key: string): string | undefined {
  const value = valueAt(of, key)
  return typeof value === 'string' ? value : undefined
}

/** A string that is not blank. */
export function nonEmptyTextAt(of: JsonRecord | undefined, key: string): string | undefined {
  const value = textAt(of, key)
  return value === undefined || value.trim() === '' ? undefined : value
}

export function numberAt(of: JsonRecord | undefined, key: string): number | undefined {
  const value = valueAt(of, key)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function isTrueAt(of: JsonRecord | undefined, key: string): boolean {
  return valueAt(of, key) === true
}

/** The records of an array. Reads at most 1,000 elements; no list of a payload is longer. */
export function recordsAt(of: JsonRecord | undefined, key: string): readonly JsonRecord[] {
  const value = valueAt(of, key)
  return Array.isArray(value) ? value.slice(0, 1_000).filter(isRecord) : []
}

export function idsAt(of: JsonRecord | undefined, key: string): readonly string[] {
  const value = valueAt(of, key)
  return Array.isArray(value) ? value.slice(0, 1_000).filter(isSnowflake) : []
}

export function idAt(of: JsonRecord | undefined, key: string): string | undefined {
  const value = valueAt(of, key)
  return isSnowflake(value) ? value : undefined
}

/** Whether a bit is set in a field of flags. */
export function hasFlag(of: JsonRecord | undefined, key: string, bit: number): boolean {
  const flags = numberAt(of, key)
  return flags !== undefined && Math.floor(flags / bit) % 2 === 1
}

/** Discord's ids (snowflakes) are numbers written as strings. */
export function isSnowflake(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,20}$/.test(value)
}

function valueAt(of: JsonRecord | undefined, key: string): unknown {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined
}
