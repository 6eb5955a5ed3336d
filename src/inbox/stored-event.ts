/**
 * The stored form of an event: JSON, with the authority of its sender.
 */
import { HermesError } from '../lib/errors.ts'
import type { Authority } from '../message/authority.ts'
import { hasWaitingUser, type MessageEvent } from '../message/event.ts'
import type { Accounts } from './accounts.ts'

/** @param payload JSON that the inbox has written, so its shape is known. */
export function parseStoredEvent(payload: string): MessageEvent {
  return JSON.parse(payload)
}

/** The event with the authority of its sender. An adapter cannot bring one; what the gateway itself causes keeps its own. */
export async function withAuthority(
  accounts: Pick<Accounts, 'lookUpAuthority'>,
  event: MessageEvent,
): Promise<MessageEvent> {
  if (event.internal === true && event.authority !== undefined) return event
  const authority = await accounts.lookUpAuthority(event.source)
  return isRestartRequest(event, authority) ? { ...event, authority, text: '/restart' } : { ...event, authority }
}

const restartWords = /^\s*restart (?:the )?(?:hermes )?gateway[.!]?\s*$/i

/** An owner may ask for a restart in plain words in a direct message (contract §3.5). A program that waits may not. */
function isRestartRequest(event: MessageEvent, { role }: Authority): boolean {
  if (event.text.length > 100 || !restartWords.test(event.text)) return false
  if (event.allowGatewayControl === false || event.internal === true || !hasWaitingUser(event)) return false
  return event.source.chatType === 'dm' && role === 'owner'
}

/** Throws `inbox/too-large`. */
export function serializeEvent(event: MessageEvent, maxBytes: number): string {
  const payload = JSON.stringify(event, toWellFormed)
  const bytes = Buffer.byteLength(payload)
  if (bytes > maxBytes) throw new HermesError('inbox/too-large', `It has ${bytes} bytes; the limit is ${maxBytes}.`)
  return payload
}

/** Replaces lone surrogates: JSON would escape them, and they would break whatever reads the text later. */
function toWellFormed(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
