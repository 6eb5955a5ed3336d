/**
 * Waiting that an abort signal can end, and abort signals for one call.
 */

/** A timer with a longer delay fires immediately. */
export const maxTimerMs = 2 ** 31 - 1

/**
 * Resolves after `ms` milliseconds (`Infinity` is allowed) or when the signal aborts. Never rejects: check the signal
 * afterwards.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const end = () => {
      removeListener?.()
      resolve()
    }
    const wait = (left: number): NodeJS.Timeout =>
      left > maxTimerMs
        ? setTimeout(() => {
            timer = wait(left - maxTimerMs)
          }, maxTimerMs)
        : setTimeout(end, left)
    let timer = wait(ms)
    const abort = () => {
      clearTimeout(timer)
      end()
    }
    const removeListener = signal === undefined ? undefined : onAbort(signal, abort)
  })
}

/** Full jitter between 0 and `min(maxMs, baseMs * 2^(attempt-1))`, so that many callers do not retry at the same time. */
export function backoffMs(attempt: number, baseMs: number, maxMs: number, random: () => number): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30))
  return Math.ceil(random() * ceiling)
}

/**
 * Waits for `work` at most `ms` or until the signal aborts, and returns whether the work finished. The work is not
 * cancelled. Rejects if the work rejects. `wait` lets tests control the time.
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
    // Without a reason, an error with a stack would be made.
    timeout.abort('the wait is over')
  }
}

/** Returns the value of the work, or rejects with the reason of the signal as soon as it aborts. The work is not cancelled. */
export async function raceAbort<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  const aborted = Promise.withResolvers<never>()
  const removeListener = onAbort(signal, () => aborted.reject(signal.reason))
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    removeListener()
  }
}

/**
 * An abort signal for one call, linked to signals that live longer. `AbortSignal.any` is not used because a signal that lives
 * as long as the process would collect one entry per call.
 */
export interface LinkedSignal {
  /** Aborts with the reason of the first source that aborts, or through `abort`. */
  readonly signal: AbortSignal
  /** Aborts this signal without its sources. */
  abort(reason?: unknown): void
  /** Removes the listeners from the sources. May be called twice. */
  release(): void
}

export function linkAbortSignal(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController()
  const removers = sources.map((source) => onAbort(source, () => controller.abort(source.reason)))
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release() {
      for (const remove of removers) remove()
    },
  }
}

/** Calls the listener once, immediately if the signal is already aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener()
  else signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}
