/**
 * Waiting that can be called off.
 */
import { linkAbortSignal } from './linked-signal.ts'

/** A timer that is to wait longer ends at once. */
const maxTimerMs = 2 ** 31 - 1

/**
 * Resolves after `ms` milliseconds, also after `Infinity`, or at once when the signal aborts. Never rejects: look at the
 * signal afterwards.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const wait = (left: number): NodeJS.Timeout =>
      left > maxTimerMs
        ? setTimeout(() => {
            timer = wait(left - maxTimerMs)
          }, maxTimerMs)
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
export async function withTimeout<T>(
  work: Promise<T>,
  ms: number,
  signal?: AbortSignal,
  wait = sleep,
): Promise<{ done: true; value: T } | { done: false }> {
  const timeout = signal === undefined ? linkAbortSignal() : linkAbortSignal(signal)
  try {
    return await Promise.race([
      work.then((value) => ({ done: true as const, value })),
      wait(ms, timeout.signal).then(() => ({ done: false as const })),
    ])
  } finally {
    timeout.release()
    timeout.abort()
  }
}

/** The value of the work, or the signal's reason at once: for work that need not be waited for. */
export async function raceAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
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
