/**
 * When a session may be started. Discord accepts one IDENTIFY in five seconds and a thousand per day, and resets the
 * token of a bot that sends more. discord.js checks the daily limit at login only.
 */
import type { IIdentifyThrottler } from 'discord.js'
import { sleep } from '#sdk'

/** `session_start_limit` of `GET /gateway/bot`. */
export interface SessionLimit {
  readonly total: number
  readonly remaining: number
  /** ms. */
  readonly reset_after: number
}

const minWaitMs = 1_000

export function createIdentifyThrottler({
  gapMs,
  fetchLimit,
  onLimit,
}: {
  readonly gapMs: number
  /** Undefined when it cannot be determined: then the session is started. Must not reject. */
  fetchLimit(): Promise<SessionLimit | undefined>
  /** Called before waiting for the limit to be reset. */
  onLimit(reason: string): void
}): IIdentifyThrottler {
  let lastAt: number | undefined
  return {
    /** Rejects only when the signal aborts: after another rejection discord.js would identify twice. */
    async waitForIdentify(_shard, signal) {
      // The login has just checked the limit.
      if (lastAt !== undefined) {
        await sleep(Math.max(0, lastAt + gapMs - performance.now()), signal)
        for (;;) {
          signal.throwIfAborted()
          const limit = await fetchLimit()
          if (limit === undefined || limit.remaining > 0) break
          onLimit(describeSessionLimit(limit))
          await sleep(Math.max(limit.reset_after, minWaitMs), signal)
        }
      }
      signal.throwIfAborted()
      lastAt = performance.now()
    },
  }
}

export function describeSessionLimit({ total, reset_after }: SessionLimit): string {
  const minutes = Math.ceil(reset_after / 60_000)
  return `the bot has started all ${total} sessions that Discord allows per day; the next one is possible in ${minutes} min`
}
