/**
 * Reads what came over the wire. Nothing is trusted: what is missing, or of another type than documented, is not there.
 */
export type Json = Readonly<Record<string, unknown>>

/** One event of the gateway, as its payload has it. */
export interface Dispatch {
  readonly t: string
  readonly s: number
  readonly d: Json
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An empty object where the value is none. */
export function asObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function objectAt(of: Json | undefined, key: string): Json | undefined {
  const value = valueAt(of, key)
  return isObject(value) ? value : undefined
}

export function textAt(of: Json | undefined, key: string): string | undefined {
  const value = valueAt(of, key)
  return typeof value === 'string' ? value : undefined
}

/** A text that is not empty. */
export function wordsAt(of: Json | undefined, key: string): string | undefined {
  const value = textAt(of, key)
  return value === undefined || value.trim() === '' ? undefined : value
}

export function numberAt(of: Json | undefined, key: string): number | undefined {
  const value = valueAt(of, key)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function isSetAt(of: Json | undefined, key: string): boolean {
  return valueAt(of, key) === true
}

/** The objects of a list, at most 1,000: no list of a payload is longer. */
export function objectsAt(of: Json | undefined, key: string): readonly Json[] {
  const value = valueAt(of, key)
  return Array.isArray(value) ? value.slice(0, 1_000).filter(isObject) : []
}

export function idsAt(of: Json | undefined, key: string): readonly string[] {
  const value = valueAt(of, key)
  return Array.isArray(value) ? value.slice(0, 1_000).filter(isId) : []
}

export function idAt(of: Json | undefined, key: string): string | undefined {
  const value = valueAt(of, key)
  return isId(value) ? value : undefined
}

/** A bit of a field of flags. */
export function hasBit(of: Json | undefined, key: string, bit: number): boolean {
  const flags = numberAt(of, key)
  return flags !== undefined && Math.floor(flags / bit) % 2 === 1
}

/** Discord's ids are numbers written as text (snowflakes). */
export function isId(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,20}$/.test(value)
}

function valueAt(of: Json | undefined, key: string): unknown {
  return of !== undefined && Object.hasOwn(of, key) ? of[key] : undefined
}
