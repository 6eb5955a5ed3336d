/**
 * Work that is about the latest state only, such as writing it down: one run at a time, and whatever changes meanwhile is
 * the business of one more run.
 */
export interface Coalescer {
  /** Something has changed: `run` is called, now or after the run under way. */
  schedule(): void
  /** Resolves when nothing is left to do. */
  idle(): Promise<void>
}

/** @param onError told of a run that rejected; the next change tries again */
export function createCoalescer(run: () => Promise<void>, onError: (error: unknown) => void): Coalescer {
  let isScheduled = false
  let running: Promise<void> | undefined

  async function work(): Promise<void> {
    while (isScheduled) {
      isScheduled = false
      await run().catch(onError)
    }
    running = undefined
  }

  return {
    schedule() {
      isScheduled = true
      running ??= work()
    },
    idle: async () => await running,
  }
}
