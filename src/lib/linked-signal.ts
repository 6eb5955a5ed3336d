/**
 * Abort signals for one call, linked to signals that live longer. `AbortSignal.any` is not used because a signal that lives
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
