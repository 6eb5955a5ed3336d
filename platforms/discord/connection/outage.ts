/**
 * Tells of interruptions that last: a short one is nobody's concern, and of a long one the newest reason counts.
 */
export interface OutageReporter {
  begin(reason: string): void
  end(): void
  /** For good. */
  stop(): void
}

/** @param graceMs an interruption of less is not told */
export function createOutageReporter(
  graceMs: number,
  onHealth: (state: 'connected' | 'degraded', reason?: string) => void,
): OutageReporter {
  let reason = ''
  let isTold = false
  let timer: NodeJS.Timeout | undefined

  function tell(): void {
    isTold = true
    onHealth('degraded', reason)
  }

  return {
    begin(why) {
      reason = why
      if (isTold) return tell()
      if (timer !== undefined) return
      timer = setTimeout(tell, graceMs)
      timer.unref()
    },
    end() {
      clearTimeout(timer)
      timer = undefined
      if (isTold) onHealth('connected')
      isTold = false
    },
    stop() {
      clearTimeout(timer)
      isTold = false
    },
  }
}
