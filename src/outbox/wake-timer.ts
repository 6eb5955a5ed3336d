/**
 * Looks again when a limit is over: at most one timer for each chat and account that is held back and waited for.
 */

/** Something that may not be called for a while. */
export interface Throttled {
  /** ms since 1970; 0 when it never was. */
  throttledUntil: number
  /** Runs while somebody waits for the end. */
  timer: AbortController | undefined
}

export interface WakeTimer {
  /** Acts once `until` is over, also when it moves meanwhile. Does nothing where an alarm runs already. */
  set(held: Throttled, act: () => void): void
  cancel(held: Throttled): void
}

export interface WakeTimerDeps {
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Timers of Node hold 24 days; a clock that was set is noticed after an hour at the latest. */
const maxSleepMs = 3_600_000

export function createWakeTimer({ clock, sleep: pause }: WakeTimerDeps): WakeTimer {
  async function runTimer(held: Throttled, alarm: AbortController, act: () => void): Promise<void> {
    for (let ms = held.throttledUntil - clock(); ms > 0 && !alarm.signal.aborted; ms = held.throttledUntil - clock()) {
      await pause(Math.min(ms, maxSleepMs), alarm.signal)
    }
    if (alarm.signal.aborted) return
    held.timer = undefined
    act()
  }

  return {
    set(held, act) {
      if (held.timer !== undefined) return
      const alarm = new AbortController()
      held.timer = alarm
      void runTimer(held, alarm, act)
    },
    cancel(held) {
      held.timer?.abort('nobody waits any more')
      held.timer = undefined
    },
  }
}
