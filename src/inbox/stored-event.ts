/**
 * Writes an event as the inbox stores it, and reads it again.
 */
import { HermesError } from '../lib/errors.ts'
import type { MessageEvent } from '../message/event.ts'

/** @param payload JSON that the inbox wrote itself: its shape is known. */
export function parseStoredEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}

/** Throws `inbox/too-large`. */
export function serializeEvent(event: MessageEvent, maxBytes: number): string {
  const payload = JSON.stringify(event, toWellFormed)
  const bytes = Buffer.byteLength(payload)
  if (bytes > maxBytes) throw new HermesError('inbox/too-large', `It has ${bytes} bytes, ${maxBytes} are allowed.`)
  return payload
}

/** Half a character cannot be stored or sent: JSON would carry it as an escape to where it breaks something. */
function toWellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
