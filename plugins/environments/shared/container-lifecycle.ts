/**
 * Starts a container when it is needed, once for all who wait, and stops it when it was idle for long enough.
 */
import { HermesError, type Logger, raceAbort } from '#sdk'

export interface ContainerSteps<Container> {
  /** Rejects `environment/...`. */
  open(signal: AbortSignal): Promise<Container>
  /** Whether a command runs there in the background. */
  isBusy(container: Container, signal: AbortSignal): Promise<boolean>
  close(container: Container, signal: AbortSignal): Promise<void>
  /** Undefined: it is never stopped for being idle. */
  lifetimeMs(): number | undefined
  readonly log: Logger
}

export interface ContainerLifecycle<Container> {
  /** Undefined: it was not started, or has ended. */
  current(): Container | undefined
  start(signal: AbortSignal): Promise<void>
  /** The container has ended by itself; the next start opens another one. */
  lost(container: Container): void
  stop(): Promise<void>
}

const closeTimeoutMs = 30_000

export function createContainerLifecycle<Container>(steps: ContainerSteps<Container>): ContainerLifecycle<Container> {
  const { log } = steps
  let container: Container | undefined
  let opening: { readonly done: Promise<void>; readonly abort: AbortController } | undefined
  let closing: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let usedAt = 0

  const arm = (): void => {
    clearTimeout(timer)
    const lifetimeMs = steps.lifetimeMs()
    if (lifetimeMs === undefined || container === undefined) return
    timer = setTimeout(() => void closeIfIdle(), Math.max(lifetimeMs - (performance.now() - usedAt), 0))
    timer.unref()
  }

  const closeIfIdle = async (): Promise<void> => {
    const idle = container
    const usedBefore = usedAt
    if (idle === undefined || closing !== undefined) return
    try {
      const busy = await steps.isBusy(idle, AbortSignal.timeout(closeTimeoutMs))
      if (container !== idle) return
      if (busy) usedAt = performance.now()
      if (busy || usedAt !== usedBefore) return arm()
      log.info({ event: 'container.idle' }, 'an idle container is stopped')
      await close()
    } catch (error) {
      log.warn({ event: 'container.not_stopped', err: error }, 'a container could not be stopped')
    }
  }

  const close = (): Promise<void> => {
    clearTimeout(timer)
    const closed = container
    if (closed === undefined) return closing ?? Promise.resolve()
    container = undefined
    closing = steps.close(closed, AbortSignal.timeout(closeTimeoutMs)).finally(() => {
      closing = undefined
    })
    return closing
  }

  const open = (): Promise<void> => {
    const abort = new AbortController()
    const work = async () => {
      // A container that is still closing has the name or the files of the next one. Its failure was logged.
      await closing?.catch(() => undefined)
      const opened = await steps.open(abort.signal)
      container = opened
      usedAt = performance.now()
      if (abort.signal.aborted) await close()
      else arm()
    }
    const done = work().finally(() => {
      opening = undefined
    })
    done.catch(() => undefined)
    opening = { done, abort }
    return done
  }

  return {
    current: () => container,
    async start(signal) {
      signal.throwIfAborted()
      usedAt = performance.now()
      if (container !== undefined) return
      // The work goes on for those who still wait.
      await raceAbort(opening?.done ?? open(), signal)
    },
    lost(ended) {
      if (container !== ended) return
      clearTimeout(timer)
      container = undefined
    },
    async stop() {
      opening?.abort.abort(new HermesError('environment/unreachable', 'The gateway stops using the container.'))
      // The callers of `start` are told of its failure.
      await opening?.done.catch(() => undefined)
      try {
        await close()
      } catch (error) {
        log.warn({ event: 'container.not_stopped', err: error }, 'a container could not be stopped')
      }
    },
  }
}
