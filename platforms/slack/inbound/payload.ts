/**
 * Reading what Slack sent without trusting its shape: a field that is not there, or of another type, is undefined.
 */
export type JsonRecord = Readonly<Record<string, unknown>>

const emptyRecord: JsonRecord = {}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The value where it is an object, else one without fields. */
export function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : emptyRecord
}

export function recordAt(fields: JsonRecord, key: string): JsonRecord {
  return asRecord(ownValue(fields, key))
}

/** A text that is not empty. */
export function textAt(fields: JsonRecord, key: string): string | undefined {
  const value = ownValue(fields, key)
  return typeof value === 'string' && value !== '' ? value : undefined
}

export function numberAt(fields: JsonRecord, key: string): number | undefined {
  const value = ownValue(fields, key)
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function isTrueAt(fields: JsonRecord, key: string): boolean {
  return ownValue(fields, key) === true
}

/** The objects of a list; everything else in it is left out. */
export function recordsAt(fields: JsonRecord, key: string): readonly JsonRecord[] {
  const value = ownValue(fields, key)
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** The `ts` of a message: its id within the channel, and when it was written. */
export function tsAt(fields: JsonRecord, key = 'ts'): string | undefined {
  const ts = textAt(fields, key)
  return ts !== undefined && /^\d{1,12}\.\d{1,9}$/.test(ts) ? ts : undefined
}

/** ms since 1970. */
export function tsToTime(ts: string): number {
  return Math.round(Number(ts) * 1_000)
}

/** What an object inherits is not what Slack sent. */
function ownValue(fields: JsonRecord, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}
