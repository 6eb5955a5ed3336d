/**
 * What signals mean to the daemon. Every one it cares about has a handler of its own, because a process that is PID 1
 * of a container ignores signals that have none.
 */

export interface SignalHandlerOptions {
  /** The process, or anything that emits its signals. */
  readonly source: {
    on(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown
    off(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown
  }
  /** Somebody sits at the terminal it runs in: closing the window stops it. Otherwise SIGHUP means "reload". */
  readonly onTerminal: boolean
  /** ms. */
  readonly clock: () => number
  /** The first request to end. */
  stop(): void
  /** A further one: end at once, with this exit code. */
  exit(code: number): void
  reload(): void
}

/** Launchers such as npm pass Ctrl-C on although the terminal has sent it to us as well, ms. */
const sameKeyPressMs = 500

/** Returns what takes the handlers away again. */
export function installSignalHandlers({
  source,
  onTerminal,
  clock,
  stop,
  exit,
  reload,
}: SignalHandlerOptions): () => void {
  let stopRequestedAt: number | undefined
  const end = (code: number, repeats: boolean) => {
    const now = clock()
    if (stopRequestedAt === undefined) {
      stopRequestedAt = now
      stop()
    } else if (!repeats || now - stopRequestedAt > sameKeyPressMs) exit(code)
  }
  const handlers = [
    ['SIGTERM', () => end(143, false)],
    ['SIGINT', () => end(130, onTerminal)],
    ['SIGHUP', onTerminal ? () => end(129, false) : reload],
  ] as const
  for (const [name, handler] of handlers) source.on(name, handler)
  return () => {
    for (const [name, handler] of handlers) source.off(name, handler)
  }
}
