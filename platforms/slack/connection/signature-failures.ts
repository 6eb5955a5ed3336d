/**
 * What is said of requests that Slack has not signed: anybody can send them, so that the log hears of them once in an hour.
 *
 * Health hears of them only while Slack has not shown with a right signature that the secret is right, and only of those
 * that are signed at all: what a stranger sends says nothing about an account that works.
 */
import type { Logger, PlatformContext } from '#sdk'

export interface SignatureFailures {
  /** A request was refused. `isSigned`: it bears a signature in Slack's form, though not the right one. */
  recordInvalid(isSigned: boolean): void
  /** A request with a right signature came in. */
  recordValid(): void
}

export interface SignatureFailuresDeps {
  readonly clock: () => number
  readonly log: Logger
  readonly health: PlatformContext['health']
}

const logIntervalMs = 3_600_000

export function createSignatureFailures({ clock, log, health }: SignatureFailuresDeps): SignatureFailures {
  let saidAt = Number.NEGATIVE_INFINITY
  /** Since it was said last. */
  let count = 0
  let isSecretRight = false
  let isDegraded = false

  return {
    recordInvalid(isSigned) {
      count += 1
      if (clock() - saidAt >= logIntervalMs) {
        log.warn({ requests: count }, 'requests without a right signature of Slack were refused')
        saidAt = clock()
        count = 0
      }
      if (isSecretRight || !isSigned) return
      isDegraded = true
      health('degraded', 'requests with a wrong signature arrive; check signing_secret')
    },
    recordValid() {
      isSecretRight = true
      if (isDegraded) health('connected')
      isDegraded = false
    },
  }
}
