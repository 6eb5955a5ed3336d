/**
 * One event of a sender: its name, its keys, and its stored form.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Verified } from './authenticate.ts'
import type { Payload } from './payload.ts'

export interface Delivery {
  readonly route: string
  /** The id that the sender gives, or one derived from what it has signed. */
  readonly id: string
  /** '' when the sender names none. */
  readonly event: string
  readonly payload: Payload
}

const idHeaders = [
  'x-github-delivery',
  'x-gitlab-event-uuid',
  'svix-id',
  'webhook-id',
  'idempotency-key',
  'x-request-id',
] as const

export interface DeliveryNames {
  readonly id: string
  /** The first is that of the delivery. */
  readonly keys: readonly [string, ...string[]]
}

/**
 * The same request has the same id: that of the sender, or a digest of what is signed. Only a request whose sender names
 * neither an id nor a time is always new.
 */
export function namesOf(
  route: string,
  headers: Headers,
  body: Uint8Array,
  verified: Pick<Extract<Verified, { ok: true }>, 'stamp' | 'isBodyUnique'>,
): DeliveryNames {
  const sent = idHeaders.map((name) => headers.get(name)).find((value) => value !== null && value.trim() !== '')
  const digest = createHash('sha256').update(`${verified.stamp}.`).update(body).digest('hex').slice(0, 40)
  const isDigestKey = verified.stamp !== '' || verified.isBodyUnique
  const id = sent ? shortId(sent.trim()) : isDigestKey ? digest : randomUUID()
  const key = `webhook:${route}:${id}`
  // The id is not signed: with the digest, the same signed body under another id is a repetition, too.
  return { id, keys: sent && isDigestKey ? [key, `webhook:${route}:${digest}`] : [key] }
}

/** An id of other characters, or a long one, is replaced by its digest. */
function shortId(id: string): string {
  return /^[\w.-]{1,100}$/.test(id) ? id : createHash('sha256').update(id).digest('hex').slice(0, 40)
}

export function serializeDelivery(delivery: Delivery): string {
  return JSON.stringify(delivery)
}

/** @param body that `serializeDelivery` has written, so its shape is known */
export function parseDelivery(body: string): Delivery {
  return JSON.parse(body)
}
