/**
 * A signal for one call, out of signals that live much longer. Not AbortSignal.any: one that lives as long as the process
 * would collect an entry for each call.
 */
export interface LinkedSignal {
  /** Aborts when one of those it follows does, with its reason, or by `abort`. */
  readonly signal: AbortSignal
  /** Ends the call alone. */
  abort(reason?: unknown): void
  /** Call it when nobody needs the signal any more. May be called twice. */
  release(): void
}

export function linkAbortSignal(...sources: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController()
  const listeners = sources.map((leader) => ({ leader, hear: () => controller.abort(leader.reason) }))
  for (const { leader, hear } of listeners) {
    if (leader.aborted) hear()
    else leader.addEventListener('abort', hear, { once: true })
  }
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    release() {
      for (const { leader, hear } of listeners) leader.removeEventListener('abort', hear)
    },
  }
}
