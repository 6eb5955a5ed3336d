/**
 * The updates that Telegram has delivered and that are not confirmed. One whose storing takes long, such as behind a slow
 * plugin, delays the confirmation of later updates, but not their storing.
 */
import { asNumber, asRecord } from '../inbound/payload.ts'

export interface UnconfirmedUpdates {
  /** Returns the updates of a response that must be stored: neither stored already nor being stored. */
  selectNew(updates: readonly unknown[]): readonly unknown[]
  /** Starts to store updates. Never rejects: `takeFailure` returns the error. */
  store(updates: readonly unknown[]): void
  /** Resolves when nothing is being stored; undefined if that is the case now. */
  settled(): Promise<unknown> | undefined
  /** The error of the last attempt that failed since the previous call. */
  takeFailure(): { readonly error: unknown } | undefined
  /** The last update before the first one that is not stored. Forgets the updates up to it. */
  takeConfirmable(): number | undefined
}

type UpdateState = 'storing' | 'stored' | 'failed'

/** @param ingest resolves when all updates are stored */
export function createUnconfirmedUpdates(ingest: (updates: readonly unknown[]) => Promise<void>): UnconfirmedUpdates {
  const states = new Map<number, UpdateState>()
  const work = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined

  function setStates(updates: readonly unknown[], state: UpdateState): void {
    for (const update of updates) {
      const id = idOf(update)
      if (id !== undefined) states.set(id, state)
    }
  }

  async function run(updates: readonly unknown[]): Promise<void> {
    try {
      await ingest(updates)
      setStates(updates, 'stored')
    } catch (error) {
      setStates(updates, 'failed')
      failure = { error }
    }
  }

  return {
    selectNew: (updates) =>
      updates.filter((update) => {
        const state = states.get(idOf(update) ?? -1)
        return state === undefined || state === 'failed'
      }),
    store(updates) {
      setStates(updates, 'storing')
      const storing = run(updates).finally(() => work.delete(storing))
      work.add(storing)
    },
    settled: () => (work.size === 0 ? undefined : Promise.all(work)),
    takeFailure() {
      const taken = failure
      failure = undefined
      return taken
    },
    takeConfirmable() {
      let last: number | undefined
      for (const id of [...states.keys()].sort((a, b) => a - b)) {
        if (states.get(id) !== 'stored') break
        states.delete(id)
        last = id
      }
      return last
    },
  }
}

function idOf(update: unknown): number | undefined {
  const id = asNumber(asRecord(update)['update_id'])
  return id !== undefined && Number.isSafeInteger(id) && id >= 0 ? id : undefined
}

/** Whether Telegram numbered any of these updates, so that they can be confirmed. */
export function haveIds(updates: readonly unknown[]): boolean {
  return updates.some((update) => idOf(update) !== undefined)
}
