/**
 * Time that moves only when a test says so.
 */
import { setImmediate as nextRound } from 'node:timers/promises'

export interface VirtualTime {
  clock(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Lets that much time pass: pauses end in their order, and what they began goes on in between. */
  advance(ms: number): Promise<void>
  /** Lets everything happen that needs no time. */
  flush(): Promise<void>
  /** How long each pause under way still takes, ms. */
  pendingMs(): number[]
}

export function createVirtualTime(): VirtualTime {
  let now = 1_000_000
  let pauses: { at: number; resolve: () => void }[] = []

  return {
    clock: () => now,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const entry = { at: now + ms, resolve }
        pauses.push(entry)
        const callOff = () => {
          pauses = pauses.filter((other) => other !== entry)
          resolve()
        }
        signal?.addEventListener('abort', callOff, { once: true })
      })
    },
    async advance(ms) {
      const end = now + ms
      await flushMicrotasks()
      for (;;) {
        const next = pauses.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0]
        if (next === undefined) break
        pauses = pauses.filter((other) => other !== next)
        now = next.at
        next.resolve()
        await flushMicrotasks()
      }
      now = end
    },
    flush: flushMicrotasks,
    pendingMs: () => pauses.map(({ at }) => at - now).sort((one, other) => one - other),
  }
}

async function flushMicrotasks(): Promise<void> {
  for (let round = 0; round < 5; round += 1) await nextRound()
}
