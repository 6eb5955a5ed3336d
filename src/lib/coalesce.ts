/**
 * Runs work that depends only on the latest state, such as saving it: one run at a time, and one further run for all changes
 * during a run.
 */
export interface Coalescer {
  /** Calls `run` now, or once after the current run. */
  schedule(): void
  /** Resolves when no run is active or scheduled. */
  idle(): Promise<void>
}

/** @param onError receives the error of a run that rejected. The next change runs it again. */
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
