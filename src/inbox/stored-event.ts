/**
 * Reads an event as the inbox stored it.
 */
import type { MessageEvent } from '../message/event.ts'

/** @param payload JSON that the inbox wrote itself: its shape is known. */
export function storedEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}
