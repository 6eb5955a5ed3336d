/**
 * Whether a request comes from Slack: a signature over its time and its bytes, with the secret that only both know.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export interface SignedRequest {
  /** `x-slack-request-timestamp`, seconds since 1970. */
  readonly timestamp: string | null
  /** `x-slack-signature`, `v0=<hex>`. */
  readonly signature: string | null
  readonly body: Uint8Array
}

/** Older requests may be somebody's who listened in. */
const maxSignatureAgeMs = 5 * 60_000

/** @param now ms since 1970 */
export function verifySignature({ timestamp, signature, body }: SignedRequest, secret: string, now: number): boolean {
  if (timestamp === null || signature === null || secret === '' || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now - Number(timestamp) * 1_000) > maxSignatureAgeMs) return false
  const expected = Buffer.from(
    `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`,
  )
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
