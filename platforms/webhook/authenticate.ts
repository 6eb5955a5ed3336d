/**
 * Verifies that the sender of a request knows the secret of the route (contract hermes.md §5). The first header that is
 * present decides, so that a request cannot choose a weaker form beside a wrong one.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

export interface SignedRequest {
  readonly headers: Headers
  readonly body: Uint8Array
}

export type Verified =
  | {
      readonly ok: true
      /** What the sender has signed besides the body, for requests without an id; '' for none. */
      readonly stamp: string
      /** The body alone is signed, and each has a time in it: the same body again is the same event. */
      readonly isBodyUnique: boolean
    }
  | { readonly ok: false }

/** An older request may be a replay. */
const maxAgeMs = 5 * 60_000
const refused = { ok: false } as const

/** @param now ms since 1970 */
export function authenticate({ headers, body }: SignedRequest, secret: string, now: number): Verified {
  const github = headers.get('x-hub-signature-256')
  if (github !== null) return hexDigest(github, 'sha256=', secret, [body]) ? verified('', true) : refused
  const gitlab = headers.get('x-gitlab-token')
  if (gitlab !== null) return isSame(gitlab, secret) ? verified('', false) : refused
  const standard = headers.get('webhook-signature') ?? headers.get('svix-signature')
  if (standard !== null) return standardWebhook(standard, headers, body, secret, now)
  const stripe = headers.get('stripe-signature')
  if (stripe !== null) return stripeWebhook(stripe, body, secret, now)
  const slack = headers.get('x-slack-signature')
  if (slack !== null) {
    const time = headers.get('x-slack-request-timestamp') ?? ''
    return isRecent(time, now) && hexDigest(slack, 'v0=', secret, [`v0:${time}:`, body])
      ? verified(time, false)
      : refused
  }
  const timed = headers.get('x-webhook-signature-v2')
  if (timed !== null) {
    const time = headers.get('x-webhook-timestamp') ?? ''
    return isRecent(time, now) && hexDigest(timed, '', secret, [`${time}.`, body]) ? verified(time, false) : refused
  }
  const plain = headers.get('x-webhook-signature')
  if (plain !== null) return hexDigest(plain, '', secret, [body]) ? verified('', false) : refused
  const bearer = /^bearer (.+)$/i.exec(headers.get('authorization') ?? '')?.[1]
  return bearer !== undefined && isSame(bearer, secret) ? verified('', false) : refused
}

function verified(stamp: string, isBodyUnique: boolean): Verified {
  return { ok: true, stamp, isBodyUnique }
}

/** Standard Webhooks: `v1,<base64>` of `id.time.body`, several with spaces between them. A secret `whsec_...` is base64. */
function standardWebhook(header: string, headers: Headers, body: Uint8Array, secret: string, now: number): Verified {
  const id = headers.get('webhook-id') ?? headers.get('svix-id') ?? ''
  const time = headers.get('webhook-timestamp') ?? headers.get('svix-timestamp') ?? ''
  if (id === '' || !isRecent(time, now)) return refused
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret
  const expected = createHmac('sha256', key).update(`${id}.${time}.`).update(body).digest('base64')
  const isValid = header
    .split(' ')
    .some((signature) => signature.startsWith('v1,') && isSame(signature.slice(3), expected))
  return isValid ? verified(time, false) : refused
}

/** `t=<time>,v1=<hex>`, with a `v1` for each secret of the sender. */
function stripeWebhook(header: string, body: Uint8Array, secret: string, now: number): Verified {
  const parts = header.split(',').map((part) => part.trim())
  const time = parts.find((part) => part.startsWith('t='))?.slice(2) ?? ''
  if (!isRecent(time, now)) return refused
  const isValid = parts.some((part) => hexDigest(part, 'v1=', secret, [`${time}.`, body]))
  return isValid ? verified(time, false) : refused
}

function hexDigest(
  received: string,
  prefix: string,
  secret: string,
  signed: readonly (string | Uint8Array)[],
): boolean {
  if (!received.startsWith(prefix)) return false
  const hmac = createHmac('sha256', secret)
  for (const part of signed) hmac.update(part)
  return isSame(received.slice(prefix.length).toLowerCase(), hmac.digest('hex'))
}

/** Seconds since 1970. */
function isRecent(time: string, now: number): boolean {
  return /^\d{1,12}$/.test(time) && Math.abs(now - Number(time) * 1_000) <= maxAgeMs
}

/** Compares digests, so that neither the content nor the length of the secret shows in the duration. */
function isSame(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
