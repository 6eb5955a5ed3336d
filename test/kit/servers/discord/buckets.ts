/**
 * Discord's rate limits by route and channel, with their headers. Unlimited until a test sets a limit.
 */
import { createHash } from 'node:crypto'

export interface BucketLimit {
  readonly limit: number
  readonly perMs: number
}

export interface Buckets {
  /** Limits the calls of a route for each channel. */
  set(route: string, limit: BucketLimit): void
  /** Counts a call. `waitMs` is 0 when it is accepted. */
  take(route: string, channel: string): { readonly waitMs: number; readonly headers: Readonly<Record<string, string>> }
  /** Calls that were made although the previous response said that none remains. */
  refused(): number
}

const generous: BucketLimit = { limit: 1_000, perMs: 1_000 }

export function createBuckets(now: () => number = () => performance.now()): Buckets {
  const limits = new Map<string, BucketLimit>()
  const open = new Map<string, { left: number; endsAt: number }>()
  let refused = 0
  return {
    set: (route, limit) => void limits.set(route, limit),
    refused: () => refused,
    take(route, channel) {
      const { limit, perMs } = limits.get(route) ?? generous
      const at = now()
      const name = `${route} ${channel}`
      const known = open.get(name)
      const bucket = known !== undefined && known.endsAt > at ? known : { left: limit, endsAt: at + perMs }
      open.set(name, bucket)
      const waitMs = bucket.left > 0 ? 0 : bucket.endsAt - at
      if (waitMs > 0) refused += 1
      else bucket.left -= 1
      const resetAfter = (bucket.endsAt - at) / 1_000
      return {
        waitMs,
        headers: {
          'x-ratelimit-limit': String(limit),
          'x-ratelimit-remaining': String(bucket.left),
          'x-ratelimit-reset': (Date.now() / 1_000 + resetAfter).toFixed(3),
          'x-ratelimit-reset-after': resetAfter.toFixed(3),
          'x-ratelimit-bucket': createHash('md5').update(route).digest('hex'),
        },
      }
    },
  }
}

/** The response to a call that exceeds the limit. */
export function tooMany(waitMs: number, scope: 'user' | 'shared' | 'global') {
  const seconds = waitMs / 1_000
  return {
    status: 429,
    headers: {
      'retry-after': String(Math.ceil(seconds)),
      'x-ratelimit-scope': scope,
      ...(scope === 'global' ? { 'x-ratelimit-global': 'true' } : {}),
      ...(scope === 'user' ? { 'x-ratelimit-reset-after': seconds.toFixed(3), 'x-ratelimit-remaining': '0' } : {}),
    },
    body: {
      message: scope === 'shared' ? 'The resource is being rate limited.' : 'You are being rate limited.',
      retry_after: seconds,
      global: scope === 'global',
    },
  }
}
