/**
 * Reads what came over the wire: nothing is there until it was looked at, and what is of another type counts as missing.
 */
export type JsonRecord = Readonly<Record<string, unknown>>

const emptyRecord: JsonRecord = {}

/** The fields of an object; none for anything else. */
export function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : emptyRecord
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; what is none is left out. */
export function asRecords(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** A text that is not empty. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Ids of users, chats, messages and updates are whole numbers that a double holds exactly; to us they are texts. */
export function asId(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}
