/**
 * Verifies that a request comes from Slack, and reports requests that do not.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Logger, PlatformContext } from '#sdk'

export interface SignedRequest {
  /** `x-slack-request-timestamp`, seconds since 1970. */
  readonly timestamp: string | null
  /** `x-slack-signature`, `v0=<hex>`. */
  readonly signature: string | null
  readonly body: Uint8Array
}

/** An older request may be a replay. */
const maxSignatureAgeMs = 5 * 60_000

/** @param now milliseconds since 1970 */
export function verifySignature({ timestamp, signature, body }: SignedRequest, secret: string, now: number): boolean {
  if (timestamp === null || signature === null || secret === '' || !/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now - Number(timestamp) * 1_000) > maxSignatureAgeMs) return false
  const expected = Buffer.from(
    `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:`).update(body).digest('hex')}`,
  )
  const received = Buffer.from(signature)
  return received.length === expected.length && timingSafeEqual(received, expected)
}

export interface SignatureFailures {
  /** A request was refused. `isSigned`: it has a signature in Slack's format, but not a valid one. */
  recordInvalid(isSigned: boolean): void
  /** A request with a valid signature arrived. */
  recordValid(): void
}

const logIntervalMs = 3_600_000

/**
 * Logs refused requests at most once an hour, because anyone can send them. They affect the health only until a valid
 * signature has shown that `signing_secret` is correct, and only if they are signed at all.
 */
export function createSignatureFailures({
  clock,
  log,
  health,
}: {
  readonly clock: () => number
  readonly log: Logger
  readonly health: PlatformContext['connection']['health']
}): SignatureFailures {
  let loggedAt = Number.NEGATIVE_INFINITY
  /** Since the last log entry. */
  let count = 0
  let isSecretValid = false
  let isDegraded = false

  return {
    recordInvalid(isSigned) {
      count += 1
      if (clock() - loggedAt >= logIntervalMs) {
        log.warn({ event: 'slack.signature_invalid', requests: count }, 'requests without a valid signature refused')
        loggedAt = clock()
        count = 0
      }
      if (isSecretValid || !isSigned) return
      isDegraded = true
      health('degraded', 'requests have a wrong signature; check signing_secret')
    },
    recordValid() {
      isSecretValid = true
      if (isDegraded) health('connected')
      isDegraded = false
    },
  }
}
