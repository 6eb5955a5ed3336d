/**
 * One signal for one model call: it aborts when the turn is stopped or when the vendor is silent for too long.
 */
const MAX_TIMER_MS = 2 ** 31 - 1

export interface IdleTimeout {
  readonly signal: AbortSignal
  /** Whether silence, not the turn, ended the call. */
  readonly timedOut: boolean
  /** From now on the vendor is waited for. */
  restart(): void
  /** The vendor has spoken; what the caller does meanwhile is not the vendor's silence. */
  pause(): void
  /** Lets go of the timer and of the turn's signal. */
  stop(): void
}

/** `turn` is the signal of the turn, `now` a clock in milliseconds that never goes back. Starts as waiting. */
export function startIdleTimeout(
  turnSignal: AbortSignal,
  idleMs: number,
  now: () => number = monotonicNow,
): IdleTimeout {
  const controller = new AbortController()
  let isWaiting = true
  let since = now()
  let timedOut = false

  // One timer that looks at the clock when it fires: chunks come too often to move a timer for each.
  const checkElapsed = (): void => {
    const left = isWaiting ? idleMs - (now() - since) : idleMs
    if (left > 0) {
      timer = setTimeout(checkElapsed, Math.min(left, MAX_TIMER_MS))
      return
    }
    timedOut = true
    controller.abort()
  }
  let timer = setTimeout(checkElapsed, Math.min(idleMs, MAX_TIMER_MS))
  const onTurnAbort = () => controller.abort(turnSignal.reason)
  if (turnSignal.aborted) onTurnAbort()
  else turnSignal.addEventListener('abort', onTurnAbort, { once: true })

  return {
    signal: controller.signal,
    get timedOut() {
      return timedOut
    },
    restart() {
      isWaiting = true
      since = now()
    },
    pause() {
      isWaiting = false
    },
    stop() {
      clearTimeout(timer)
      turnSignal.removeEventListener('abort', onTurnAbort)
    },
  }
}

function monotonicNow(): number {
  return performance.now()
}

/** The reason of an abort as an Error, so that `throw` carries a stack. */
export function toAbortError(signal: AbortSignal): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : new Error('the model call was stopped', { cause: signal.reason })
}
