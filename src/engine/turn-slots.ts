/**
 * The concurrency limit of turns. A turn holds a slot while it runs, and frees it while it waits for something outside of
 * this process.
 */
import { onAbort } from '../lib/timers.ts'

export interface TurnSlot {
  /** Concurrent waits of the turn. The slot is free while there is one. */
  waits: number
  /** False after the turn has ended. A wait may outlive its turn. */
  isOpen: boolean
}

export interface TurnSlots {
  isFree(): boolean
  /** Takes a slot beyond the limit if necessary. */
  take(): TurnSlot
  /** Ends the use of a slot. */
  release(slot: TurnSlot): void
  /** Frees the slot during `wait`. Resolves or rejects as `wait`, when the slot was taken again or the signal aborts. */
  waitOutside<T>(slot: TurnSlot, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Gives free slots to turns whose wait is over; all of them when `force` is set. */
  resume(force: boolean): void
  /** Slots in use. */
  used(): number
}

/** @param onFree called when a wait frees a slot */
export function createTurnSlots(limit: () => number, onFree: () => void): TurnSlots {
  const returning = new Set<() => void>()
  let used = 0

  function resume(force: boolean): void {
    for (const takeAgain of returning) if (force || used < limit()) takeAgain()
  }

  /** Resolves as soon as a slot is free, or at once when the turn was aborted and only has to end. */
  function takeAgain(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        if (!returning.delete(finish)) return
        removeListener()
        used += 1
        resolve()
      }
      returning.add(finish)
      const removeListener = onAbort(signal, () => queueMicrotask(finish))
      resume(false)
    })
  }

  return {
    isFree: () => used < limit(),
    take() {
      used += 1
      return { waits: 0, isOpen: true }
    },
    release(slot) {
      slot.isOpen = false
      if (slot.waits === 0) used -= 1
    },
    async waitOutside(slot, wait, signal) {
      slot.waits += 1
      if (slot.waits === 1) {
        used -= 1
        onFree()
      }
      try {
        return await wait()
      } finally {
        slot.waits -= 1
        if (slot.waits === 0 && slot.isOpen) await takeAgain(signal)
      }
    },
    resume,
    used: () => used,
  }
}
