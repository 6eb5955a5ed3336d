/**
 * A signal for one call, out of signals that live much longer. Not AbortSignal.any: one that lives as long as the process
 * would collect an entry for each call.
 */
export interface Following {
  /** Aborts when one of those it follows does, with its reason, or by `abort`. */
  readonly signal: AbortSignal
  /** Ends the call alone. */
  abort(reason?: unknown): void
  /** Call it when nobody needs the signal any more. May be called twice. */
  release(): void
}

export function follow(...leaders: readonly AbortSignal[]): Following {
  const ended = new AbortController()
  const hearers = leaders.map((leader) => ({ leader, hear: () => ended.abort(leader.reason) }))
  for (const { leader, hear } of hearers) {
    if (leader.aborted) hear()
    else leader.addEventListener('abort', hear, { once: true })
  }
  return {
    signal: ended.signal,
    abort: (reason) => ended.abort(reason),
    release() {
      for (const { leader, hear } of hearers) leader.removeEventListener('abort', hear)
    },
  }
}
