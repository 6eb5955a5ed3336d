/**
 * Waiting that can be called off.
 */
import { follow } from './follow.ts'

/** A timer that is to wait longer ends at once. */
const longestTimerMs = 2 ** 31 - 1

/**
 * Resolves after `ms` milliseconds, also after `Infinity`, or at once when the signal aborts. Never rejects: look at the
 * signal afterwards.
 */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const wait = (left: number): NodeJS.Timeout =>
      left > longestTimerMs
        ? setTimeout(() => {
            timer = wait(left - longestTimerMs)
          }, longestTimerMs)
        : setTimeout(done, left)
    let timer = wait(ms)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Full jitter between 0 and `min(maxMs, baseMs * 2^(attempt-1))`, so that many waiters do not return at the same instant. */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30))
  return Math.ceil(random() * ceiling)
}

/**
 * Waits for `work` at most `ms`, or until the signal aborts; tells whether the work came first. The work is not stopped.
 * Rejects as the work rejects. `wait` is for tests that hold the time still.
 */
export async function within<T>(
  work: Promise<T>,
  ms: number,
  signal?: AbortSignal,
  wait = pause,
): Promise<{ done: true; value: T } | { done: false }> {
  const over = signal === undefined ? follow() : follow(signal)
  try {
    return await Promise.race([
      work.then((value) => ({ done: true as const, value })),
      wait(ms, over.signal).then(() => ({ done: false as const })),
    ])
  } finally {
    over.release()
    over.abort()
  }
}

/** The value of the work, or the signal's reason at once: for work that need not be waited for. */
export async function orAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>()
  const note = () => aborted.reject(signal.reason)
  if (signal.aborted) note()
  else signal.addEventListener('abort', note, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', note)
  }
}
