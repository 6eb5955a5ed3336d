/**
 * Reports interruptions that outlast a grace period, with their latest reason.
 */
export interface OutageReporter {
  begin(reason: string): void
  end(): void
  /** Ends reporting permanently. */
  stop(): void
}

/** @param graceMs shorter interruptions are not reported */
export function createOutageReporter(
  graceMs: number,
  onHealth: (state: 'connected' | 'degraded', reason?: string) => void,
): OutageReporter {
  let reason = ''
  let isReported = false
  let timer: NodeJS.Timeout | undefined

  function report(): void {
    isReported = true
    onHealth('degraded', reason)
  }

  return {
    begin(newReason) {
      reason = newReason
      if (isReported) return report()
      if (timer !== undefined) return
      timer = setTimeout(report, graceMs)
      timer.unref()
    },
    end() {
      clearTimeout(timer)
      timer = undefined
      if (isReported) onHealth('connected')
      isReported = false
    },
    stop() {
      clearTimeout(timer)
      isReported = false
    },
  }
}
