/**
 * Reads what came over the wire. Nothing is trusted: what is missing, or of another type than documented, is not there.
 */
export type JsonRecord = Readonly<Record<string, unknown>>

/** One event of the gateway, as its payload has it. */
export interface Dispatch {
  readonly t: string
  readonly s: number
  readonly d: JsonRecord
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An empty object where the value is none. */
export function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : {}
}

export function recordAt(of: JsonRecord | undefined, key: string): JsonRecord | undefined {
  const value = valueAt(of, key)
  return isRecord(value) ? value : undefined
}

export function textAt(of: JsonRecord | undefined, key: string): string | undefined {
  const value = valueAt(of, key)
  return typeof value === 'string' ? value : undefined
}

/** A text that is not empty. */
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

/** The objects of a list, at most 1,000: no list of a payload is longer. */
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

/** A bit of a field of flags. */
export function hasFlag(of: JsonRecord | undefined, key: string, bit: number): boolean {
  const flags = numberAt(of, key)
  return flags !== undefined && Math.floor(flags / bit) % 2 === 1
}

/** Discord's ids are numbers written as text (snowflakes). */
export function isSnowflake(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,20}$/.test(value)
}

function valueAt(of: JsonRecord | undefined, key: string): unknown {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined
}
