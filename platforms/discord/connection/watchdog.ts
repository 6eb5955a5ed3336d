/**
 * Notices a connection that is open but dead: after a time of silence it asks for a sign of life, and when none comes the
 * connection counts as lost.
 */
export interface WatchdogDeps {
  /** So long nothing may be heard. */
  readonly quietMs: number
  /** So long the other side has to answer. */
  readonly answerMs: number
  sendPing(): void
  onTimeout(): void
}

export interface Watchdog {
  /** Something was heard, or a new connection begins: the time of silence starts anew. */
  reset(): void
  /** For good. */
  stop(): void
}

export function createWatchdog({ quietMs, answerMs, sendPing: ask, onTimeout: onSilence }: WatchdogDeps): Watchdog {
  let timer: NodeJS.Timeout | undefined
  let isOver = false

  function wait(ms: number, then: () => void): void {
    clearTimeout(timer)
    if (isOver) return
    timer = setTimeout(then, ms)
    timer.unref()
  }

  return {
    reset() {
      wait(quietMs, () => {
        wait(answerMs, onSilence)
        ask()
      })
    },
    stop() {
      isOver = true
      clearTimeout(timer)
    },
  }
}
