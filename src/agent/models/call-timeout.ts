/**
 * The time limits of one model call: without output of the model, and in total.
 */
import { linkAbortSignal, maxTimerMs } from '../../lib/timers.ts'

export interface CallTimeLimits {
  /** Without output of the model. */
  readonly idleMs: number
  /** Limits the time of the whole call. */
  readonly totalMs: number
}

export interface CallTimeout {
  /** Aborts with the turn, or when a limit is exceeded. */
  readonly signal: AbortSignal
  /** The limit that caused the abort; undefined while none is exceeded. */
  readonly exceeded: keyof CallTimeLimits | undefined
  /** Milliseconds without output, without the time of the caller. */
  idleMs(): number
  /** The model has sent output: starts counting the idle time again. */
  progress(): void
  /** Stops counting the idle time while the caller handles a chunk: that time is not the vendor's. */
  pause(): void
  /** Continues counting. */
  resume(): void
  /** Releases the timer and the turn's signal. */
  stop(): void
}

/** `now` is a monotonic clock in milliseconds. The timeout starts at once. */
export function startCallTimeout(
  turnSignal: AbortSignal,
  { idleMs, totalMs }: CallTimeLimits,
  now: () => number = () => performance.now(),
): CallTimeout {
  const linked = linkAbortSignal(turnSignal)
  const startedAt = now()
  let since = startedAt
  let pausedAt: number | undefined
  let exceeded: CallTimeout['exceeded']
  const idleTime = () => (pausedAt ?? now()) - since
  // One timer that reads the clock when it fires: chunks arrive too often to reset a timer for each of them.
  const checkElapsed = (): void => {
    const time = now()
    const idleLeftMs = pausedAt === undefined ? idleMs - idleTime() : idleMs
    const totalLeftMs = totalMs - (time - startedAt)
    if (idleLeftMs > 0 && totalLeftMs > 0) {
      timer = setTimeout(checkElapsed, Math.min(idleLeftMs, totalLeftMs, maxTimerMs))
      return
    }
    exceeded = totalLeftMs <= 0 ? 'totalMs' : 'idleMs'
    linked.abort()
  }
  let timer = setTimeout(checkElapsed, Math.min(idleMs, totalMs, maxTimerMs))
  return {
    signal: linked.signal,
    get exceeded() {
      return exceeded
    },
    idleMs: idleTime,
    progress() {
      since = now()
    },
    pause() {
      pausedAt = now()
    },
    resume() {
      if (pausedAt !== undefined) since += now() - pausedAt
      pausedAt = undefined
    },
    stop() {
      clearTimeout(timer)
      linked.release()
    },
  }
}
