/**
 * Reading what Slack sent without trusting its shape: a field that is not there, or of another type, is undefined.
 */
export type Fields = Readonly<Record<string, unknown>>

const none: Fields = {}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value where it is an object, else one without fields. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : none
}

export function fieldsIn(fields: Fields, key: string): Fields {
  return fieldsOf(own(fields, key))
}

/** A text that is not empty. */
export function textIn(fields: Fields, key: string): string | undefined {
  const value = own(fields, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function numberIn(fields: Fields, key: string): number | undefined {
  const value = own(fields, key)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function isTrue(fields: Fields, key: string): boolean {
  return own(fields, key) === true
}

/** The objects of a list; everything else in it is left out. */
export function listIn(fields: Fields, key: string): readonly Fields[] {
  const value = own(fields, key)
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** The `ts` of a message: its id within the channel, and when it was written. */
export function tsIn(fields: Fields, key = 'ts'): string | undefined {
  const ts = textIn(fields, key)
  return ts !== undefined && /^\d{1,12}\.\d{1,9}$/.test(ts) ? ts : undefined
}

/** ms since 1970. */
export function timeOf(ts: string): number {
  return Math.round(Number(ts) * 1_000)
}

/** What an object inherits is not what Slack sent. */
function own(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}
