/**
 * How many sessions a bot may still begin: Discord gives a thousand a day, and takes the token away from who goes on.
 */
import { HermesError, sleep } from '#sdk'

/** As `GET /gateway/bot` tells it. */
export interface SessionStartLimit {
  readonly total: number
  readonly remaining: number
  /** ms. */
  readonly reset_after: number
  readonly max_concurrency: number
}

export interface SessionLimitDeps {
  readonly limit: SessionStartLimit
  /** In so long `max_concurrency` sessions may begin. */
  readonly identifyGapMs: number
  refresh(signal: AbortSignal): Promise<SessionStartLimit>
  /** No session is left: told why nothing happens. */
  onWait(reason: string): void
}

export interface SessionLimit {
  /** Resolves when a session may be begun, and counts it. Rejects when the signal aborts. */
  waitForIdentify(signal: AbortSignal): Promise<void>
}

/** Throws where none is left: the supervisor tries again later. */
export function createSessionLimit(deps: SessionLimitDeps): SessionLimit {
  let known: SessionStartLimit | undefined = deps.limit
  /** When the last sessions began. */
  let begun: number[] = []
  if (deps.limit.remaining <= 0) throw new HermesError('platform/connect-failed', `${noSessionsLeftText(deps.limit)}.`)
  return {
    async waitForIdentify(signal) {
      begun = begun.slice(-Math.max(1, deps.limit.max_concurrency))
      const first = begun.length < deps.limit.max_concurrency ? undefined : begun[0]
      const waitMs = first === undefined ? 0 : first + deps.identifyGapMs - performance.now()
      if (waitMs > 0) await sleep(waitMs, signal)
      for (;;) {
        signal.throwIfAborted()
        const limit = known ?? (await deps.refresh(signal))
        known = undefined
        if (limit.remaining > 0) break
        deps.onWait(noSessionsLeftText(limit))
        await sleep(Math.max(limit.reset_after, 1_000), signal)
      }
      begun.push(performance.now())
    },
  }
}

function noSessionsLeftText({ total, reset_after }: SessionStartLimit): string {
  const minutes = Math.ceil(reset_after / 60_000)
  return `the bot has begun all ${total} sessions that Discord allows in a day, the next one is possible in ${minutes} min`
}
