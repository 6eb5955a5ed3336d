/**
 * Installs the signal handlers of the daemon. Each signal needs a handler, because a process with PID 1 (in a container)
 * ignores signals without one.
 */

export interface SignalHandlerOptions {
  /** `process` or a substitute. */
  readonly source: {
    on(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown
    off(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown
  }
  /** On a terminal, SIGHUP means that its window was closed, and stops the daemon. Otherwise it reloads the configuration. */
  readonly onTerminal: boolean
  /** In ms. */
  readonly clock: () => number
  /** Called for the first signal to stop. */
  stop(): void
  /** Called for further ones: exits at once with this code. */
  exit(code: number): void
  reload(): void
  /** SIGUSR1, unless a stop was requested before. */
  restart(): void
}

/** Launchers such as npm forward Ctrl-C although the terminal sends it to this process as well. */
const sameKeyPressMs = 500

/** Returns a function that removes the handlers. */
export function installSignalHandlers({
  source,
  onTerminal,
  clock,
  stop,
  exit,
  reload,
  restart,
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
    ['SIGUSR1', () => stopRequestedAt === undefined && restart()],
    ['SIGHUP', onTerminal ? () => end(129, false) : reload],
  ] as const
  for (const [name, handler] of handlers) source.on(name, handler)
  return () => {
    for (const [name, handler] of handlers) source.off(name, handler)
  }
}
