/**
 * Looks again when a limit is over: at most one timer for each chat and account that is held back and waited for.
 */

/** Something that may not be called for a while. */
export interface Held {
  /** ms since 1970; 0 when it never was. */
  until: number
  /** Runs while somebody waits for the end. */
  alarm: AbortController | undefined
}

export interface Alarm {
  /** Acts once `until` is over, also when it moves meanwhile. Does nothing where an alarm runs already. */
  set(held: Held, act: () => void): void
  end(held: Held): void
}

export interface AlarmDeps {
  readonly clock: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
}

/** Timers of Node hold 24 days; a clock that was set is noticed after an hour at the latest. */
const longestPauseMs = 3_600_000

export function createAlarm({ clock, pause }: AlarmDeps): Alarm {
  async function ring(held: Held, alarm: AbortController, act: () => void): Promise<void> {
    for (let ms = held.until - clock(); ms > 0 && !alarm.signal.aborted; ms = held.until - clock()) {
      await pause(Math.min(ms, longestPauseMs), alarm.signal)
    }
    if (alarm.signal.aborted) return
    held.alarm = undefined
    act()
  }

  return {
    set(held, act) {
      if (held.alarm !== undefined) return
      const alarm = new AbortController()
      held.alarm = alarm
      void ring(held, alarm, act)
    },
    end(held) {
      held.alarm?.abort('nobody waits any more')
      held.alarm = undefined
    },
  }
}
