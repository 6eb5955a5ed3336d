/**
 * One signal from two. Not AbortSignal.any: a signal that lives as long as the process would collect an entry per turn.
 */
export interface Either {
  /** Aborts when one of the two does. */
  readonly signal: AbortSignal
  /** Call it when nobody needs the signal any more. */
  release(): void
}

export function eitherOf(one: AbortSignal, other: AbortSignal): Either {
  const ended = new AbortController()
  const onOne = () => ended.abort(one.reason)
  const onOther = () => ended.abort(other.reason)
  one.addEventListener('abort', onOne, { once: true })
  other.addEventListener('abort', onOther, { once: true })
  if (one.aborted) onOne()
  else if (other.aborted) onOther()
  return {
    signal: ended.signal,
    release() {
      one.removeEventListener('abort', onOne)
      other.removeEventListener('abort', onOther)
    },
  }
}
