/**
 * Work that is about the latest state only, such as writing it down: one run at a time, and whatever changes meanwhile is
 * the business of one more run.
 */
export interface Latest {
  /** Something has changed: `run` is called, now or after the run under way. */
  changed(): void
  /** Resolves when nothing is left to do. */
  settled(): Promise<void>
}

/** @param failed told of a run that rejected; the next change tries again */
export function createLatest(run: () => Promise<void>, failed: (error: unknown) => void): Latest {
  let wanted = false
  let running: Promise<void> | undefined

  async function work(): Promise<void> {
    while (wanted) {
      wanted = false
      await run().catch(failed)
    }
    running = undefined
  }

  return {
    changed() {
      wanted = true
      running ??= work()
    },
    settled: async () => await running,
  }
}
