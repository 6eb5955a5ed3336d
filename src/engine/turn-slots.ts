/**
 * The concurrency limit of turns. A turn holds a slot while it runs, and frees it while it waits for something outside of
 * this process.
 */
import { onAbort } from '../lib/timers.ts'

export interface TurnSlot {
  /** Parts of the turn that work in parallel, such as sub-agents. */
  branches: number
  /** Branches that wait. The slot is free while all of them do. */
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
  /** Splits the turn into branches. Each of them calls the returned function once, when it ends. */
  fork(slot: TurnSlot, branches: number): () => void
  /**
   * Frees the slot during `wait`, while no other branch works. Resolves or rejects as `wait`, when the slot is held again or
   * the signal aborts.
   */
  waitOutside<T>(slot: TurnSlot, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Gives free slots to turns whose wait is over; all of them when `force` is set. */
  resume(force: boolean): void
  /** Slots in use. */
  used(): number
}

/** @param onFree called when a wait frees a slot */
export function createTurnSlots(limit: () => number, onFree: () => void): TurnSlots {
  /** The branches whose wait is over, each with its slot. */
  const returning = new Map<() => void, TurnSlot>()
  let used = 0

  function resume(force: boolean): void {
    for (const [takeAgain, slot] of returning) if (force || slot.isHeld || used < limit()) takeAgain()
  }

  /**
   * Resolves as soon as the turn has a slot, which another branch may have taken, or at once when the turn was aborted and
   * only has to end.
   */
  function takeAgain(slot: TurnSlot, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        if (!returning.delete(finish)) return
        removeListener()
        // Meanwhile the turn may have ended, or wait again.
        if (slot.isOpen && !isWaiting(slot)) hold(slot)
        resolve()
      }
      returning.set(finish, slot)
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

  function isWaiting({ waits, branches }: TurnSlot): boolean {
    return waits >= branches
  }

  function freeWhileWaiting(slot: TurnSlot): void {
    if (!slot.isHeld || !isWaiting(slot)) return
    free(slot)
    onFree()
  }

  return {
    isFree: () => used < limit(),
    take() {
      const slot = { branches: 1, waits: 0, isHeld: false, isOpen: true }
      hold(slot)
      return slot
    },
    release(slot) {
      slot.isOpen = false
      free(slot)
    },
    fork(slot, branches) {
      let working = branches
      slot.branches += branches - 1
      return () => {
        working -= 1
        // After the last branch, the turn itself continues.
        if (working === 0) return
        slot.branches -= 1
        freeWhileWaiting(slot)
      }
    },
    async waitOutside(slot, wait, signal) {
      slot.waits += 1
      freeWhileWaiting(slot)
      try {
        return await wait()
      } finally {
        slot.waits -= 1
        if (slot.isOpen && !slot.isHeld) await takeAgain(slot, signal)
      }
    },
    resume,
    used: () => used,
  }
}
