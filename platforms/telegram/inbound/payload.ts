/**
 * Readers of untyped JSON from Telegram. A value of an unexpected type counts as missing.
 */
import { isRecord } from '#sdk'

export type JsonRecord = Readonly<Record<string, unknown>>

const emptyRecord: JsonRecord = {}

/** The value if it is an object, otherwise an empty one. */
export function asRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : emptyRecord
}

/** The objects of a list; other items are left out. */
export function asRecords(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : []
}

/** A non-empty string. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Telegram's ids are integers within the safe range of a double; the gateway handles them as strings. */
export function asId(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : undefined
}

export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

/** The new message of an update, in a chat or a channel. */
export function newMessageOf(update: JsonRecord): JsonRecord | undefined {
  const message = update['message'] ?? update['channel_post']
  return isRecord(message) ? message : undefined
}

/** Whether an update is one part of an album. */
export function isAlbumPart(update: unknown): boolean {
  return asText(asRecord(newMessageOf(asRecord(update)))['media_group_id']) !== undefined
}
