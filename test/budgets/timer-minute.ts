/**
 * A minute that passes at once: the timers of the sources fire in their order, and each wake-up is recorded.
 */
import { setImmediate } from 'node:timers/promises'
import { sourceLines } from './work.ts'

interface LiveTimer {
  /** The lines of the sources that set it. */
  readonly lines: readonly string[]
  readonly call: () => void
  readonly ms: number
  readonly repeats: boolean
  /** ms since the timers are followed. */
  due: number
}

export interface FollowedTimers {
  /** Lets a minute pass. Returns who set the timer of each wake-up. */
  passMinute(): Promise<readonly string[]>
  stop(): void
}

/** Follows the timers that the sources set from now on. */
export function followTimers(): FollowedTimers {
  const original = { setTimeout, setInterval, clearTimeout, clearInterval }
  const live = new Map<object, LiveTimer>()
  const begun = performance.now()
  /** ms since the begin; undefined while real time counts. */
  let passed: number | undefined

  function follow(repeats: boolean) {
    const set = repeats ? original.setInterval : original.setTimeout
    return (callback: (...values: unknown[]) => void, ms = 1, ...values: unknown[]): NodeJS.Timeout => {
      const lines = sourceLines()
      if (lines.length === 0) return set(callback, ms, ...values)
      const call = () => callback(...values)
      // While the minute passes, the handle itself must not fire.
      const handle = passed === undefined ? set(fire, ms) : original.setTimeout(() => undefined, 2 ** 31 - 1).unref()
      live.set(handle, { lines, call, ms, repeats, due: (passed ?? performance.now() - begun) + ms })
      return handle

      function fire(): void {
        if (repeats) {
          const timer = live.get(handle)
          if (timer !== undefined) timer.due += ms
        } else live.delete(handle)
        call()
      }
    }
  }

  function forget(timer: object | undefined): void {
    if (timer === undefined) return
    live.delete(timer)
    original.clearTimeout(timer as NodeJS.Timeout)
  }

  Object.assign(globalThis, {
    setTimeout: Object.assign(follow(false), original.setTimeout),
    setInterval: follow(true),
    clearTimeout: forget,
    clearInterval: forget,
  })
  return {
    async passMinute() {
      passed ??= performance.now() - begun
      const end = passed + 60_000
      for (const handle of live.keys()) original.clearTimeout(handle as NodeJS.Timeout)
      const wakeUps: string[] = []
      for (;;) {
        const [next] = [...live].sort(([, a], [, b]) => a.due - b.due)
        if (next === undefined || next[1].due > end) return wakeUps
        const [handle, timer] = next
        passed = Math.max(passed, timer.due)
        if (timer.repeats) timer.due = passed + Math.max(1, timer.ms)
        else live.delete(handle)
        wakeUps.push(timer.lines.slice(0, 2).join(' of '))
        timer.call()
        // What the timer has started may read files, and set the next one.
        for (let turn = 0; turn < 5; turn++) await setImmediate()
      }
    },
    stop: () => void Object.assign(globalThis, original),
  }
}
