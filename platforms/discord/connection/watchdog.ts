/**
 * Detects a connection that is open but dead: after a silence it sends a ping, and when nothing arrives in response the
 * connection is replaced.
 */
import type { GatewayTiming } from './timing.ts'

/**
 * The time for an answer is waited for in steps, each of which lets the event loop read what has arrived. A process that
 * was itself stopped for longer than that time would otherwise take its own pause for a silence of the other side.
 */
const answerSteps = 8

export function createWatchdog({ quietMs, answerMs }: GatewayTiming, sendPing: () => void, onTimeout: () => void) {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function wait(ms: number, then: () => void): void {
    clearTimeout(timer)
    if (isStopped) return
    timer = setTimeout(then, ms)
    timer.unref()
  }

  function waitForAnswer(steps: number): void {
    if (steps === 0) onTimeout()
    else wait(answerMs / answerSteps, () => waitForAnswer(steps - 1))
  }

  return {
    /** Something arrived, or a new attempt to connect begins. */
    reset() {
      wait(quietMs, () => {
        waitForAnswer(answerSteps)
        sendPing()
      })
    },
    /** Ends the watch permanently. */
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
