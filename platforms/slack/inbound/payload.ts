/**
 * Readers of untyped JSON from Slack. A missing field, or one of an unexpected type, is `undefined`.
 */
import { isRecord } from '#sdk'

export type JsonRecord = Readonly<Record<string, unknown>>

const emptyRecord: JsonRecord = {}

/** The value if it is an object, otherwise an empty one. */
export function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : emptyRecord
}

export function recordAt(fields: JsonRecord, key: string): JsonRecord {
  return asRecord(ownValue(fields, key))
}

/** A non-empty string. */
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

/** The objects of a list; other items are left out. */
export function recordsAt(fields: JsonRecord, key: string): readonly JsonRecord[] {
  const value = ownValue(fields, key)
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** The `ts` of a message: its id in the channel and its time. */
export function tsAt(fields: JsonRecord, key = 'ts'): string | undefined {
  const ts = textAt(fields, key)
  return ts !== undefined && /^\d{1,12}\.\d{1,9}$/.test(ts) ? ts : undefined
}

/** Milliseconds since 1970. */
export function tsToTime(ts: string): number {
  return Math.round(Number(ts) * 1_000)
}

/** Ignores inherited properties. */
function ownValue(fields: JsonRecord, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}
