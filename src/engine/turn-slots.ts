/**
 * The concurrency limit of turns. A turn holds a slot while it runs, and frees it while it waits for something outside of
 * this process.
 */
import { onAbort } from '../lib/timers.ts'

export interface TurnSlot {
  /** Concurrent waits of the turn. The slot is free while there is one. */
  waits: number
  /** Whether the slot counts as used. */
  isHeld: boolean
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
  function takeAgain(slot: TurnSlot, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        if (!returning.delete(finish)) return
        removeListener()
        // Meanwhile the turn may have ended, or wait again.
        if (slot.isOpen && slot.waits === 0) hold(slot)
        resolve()
      }
      returning.add(finish)
      const removeListener = onAbort(signal, () => queueMicrotask(finish))
      resume(false)
    })
  }

  function hold(slot: TurnSlot): void {
    if (!slot.isHeld) used += 1
    slot.isHeld = true
  }

  function free(slot: TurnSlot): void {
    if (slot.isHeld) used -= 1
    slot.isHeld = false
  }

  return {
    isFree: () => used < limit(),
    take() {
      const slot = { waits: 0, isHeld: false, isOpen: true }
      hold(slot)
      return slot
    },
    release(slot) {
      slot.isOpen = false
      free(slot)
    },
    async waitOutside(slot, wait, signal) {
      slot.waits += 1
      if (slot.isHeld) {
        free(slot)
        onFree()
      }
      try {
        return await wait()
      } finally {
        slot.waits -= 1
        if (slot.waits === 0 && slot.isOpen) await takeAgain(slot, signal)
      }
    },
    resume,
    used: () => used,
  }
}
