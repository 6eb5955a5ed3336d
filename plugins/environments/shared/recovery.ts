/**
 * Finds what an earlier process has left, once: before the first environment is started, at the start of the gateway or later.
 */
import { type Logger, raceAbort } from '#sdk'

export interface Recovery<Request> {
  /** Rejects as the work. A later call tries again what has failed. */
  once(request: Request, signal: AbortSignal): Promise<void>
  /** The same for a caller that can go on without it. Never rejects. */
  beforeStart(request: Request, signal: AbortSignal): Promise<void>
}

/** An engine may have to be started first. */
const maxMs = 60_000

export function createRecovery<Request extends { readonly log: Logger }>(
  work: (request: Request, signal: AbortSignal) => Promise<void>,
): Recovery<Request> {
  let done: Promise<void> | undefined
  const once = async (request: Request, signal: AbortSignal): Promise<void> => {
    // The work goes on for the others when one caller gives up.
    done ??= work(request, AbortSignal.timeout(maxMs)).catch((error: unknown) => {
      done = undefined
      throw error
    })
    await raceAbort(done, signal)
  }
  return {
    once,
    async beforeStart(request, signal) {
      try {
        await once(request, signal)
      } catch (error) {
        // If the engine is the cause, the start itself fails next and says so.
        request.log.warn(
          { event: 'container.not_recovered', err: error },
          'containers of an earlier run were not looked for',
        )
      }
    },
  }
}
