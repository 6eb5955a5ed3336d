/**
 * Starts the daemons of all plugins in the order of registration and stops them in reverse order (seed 003). Without a call
 * of `start`, as on the command line, no daemon runs.
 */
import { HermesError } from '../../lib/errors.ts'
import type { Awaitable, Registration } from '../../middleware/contract.ts'
import type { DaemonOptions } from '../contract.ts'
import { createDaemon, type Daemon, type DaemonDeps, type DaemonStatus } from './daemon.ts'

export interface Daemons {
  /** Starts the daemon immediately if the gateway runs; removing the registration stops it. Throws `plugins/daemon-taken`, `plugins/invalid-registration`. */
  register(
    owner: string,
    name: string,
    startup: () => Awaitable<unknown>,
    shutdown: () => Awaitable<unknown>,
    options?: DaemonOptions,
  ): Registration
  /** Resolves when the removed daemons of a plugin have stopped. Never rejects. */
  stopped(owner: string): Promise<void>
  /** Resolves when each daemon was started or failed to start. Never rejects. */
  start(): Promise<void>
  /** Resolves when each daemon has stopped or timed out. May be called twice. Never rejects. */
  stop(): Promise<void>
  /** In the order of registration. */
  status(): readonly DaemonStatus[]
}

export function createDaemons(deps: DaemonDeps): Daemons {
  const daemons = new Map<string, Daemon>()
  /** Removed daemons that have not stopped yet. */
  const stopping = new Set<{ readonly owner: string; readonly stopped: Promise<void> }>()
  let phase: 'waiting' | 'running' | 'stopped' = 'waiting'
  /** Daemons start one after the other. */
  let starting = Promise.resolve()

  /** The previous version of a daemon may hold a resource that the new one needs. */
  async function startAfterStops(daemon: Daemon): Promise<void> {
    await stopped(daemon.owner)
    await daemon.start()
  }

  function enqueueStart(daemon: Daemon): void {
    starting = starting.then(() => startAfterStops(daemon))
  }

  async function stopped(owner: string): Promise<void> {
    await Promise.all([...stopping].filter((entry) => entry.owner === owner).map((entry) => entry.stopped))
  }

  function removeDaemon(daemon: Daemon): boolean {
    if (daemons.get(daemon.name) !== daemon) return false
    daemons.delete(daemon.name)
    const entry = { owner: daemon.owner, stopped: daemon.stop() }
    stopping.add(entry)
    void entry.stopped.then(() => stopping.delete(entry))
    return true
  }

  return {
    register(owner, name, startup, shutdown, options = {}) {
      const taken = daemons.get(name)
      if (taken !== undefined)
        throw new HermesError('plugins/daemon-taken', `"${name}" is registered by the plugin ${taken.owner}.`)
      validateOptions(owner, name, options)
      const daemon = createDaemon({ ...options, owner, name, startup, shutdown }, deps)
      daemons.set(name, daemon)
      if (phase === 'running') enqueueStart(daemon)
      return { name, remove: () => removeDaemon(daemon) }
    },

    stopped,

    async start() {
      if (phase !== 'waiting') return
      phase = 'running'
      for (const daemon of daemons.values()) enqueueStart(daemon)
      await starting
    },

    async stop() {
      phase = 'stopped'
      for (const daemon of [...daemons.values()].reverse()) await daemon.stop()
      await Promise.all([...stopping].map((entry) => entry.stopped))
    },

    status: () => [...daemons.values()].map((daemon) => daemon.status()),
  }
}

/** Checks options at run time, because plugins may be written without types and an interval of NaN would never pause. */
function validateOptions(
  owner: string,
  name: string,
  { periodicTask: task, shutdownTimeoutMs: stopMs = 1 }: DaemonOptions,
): void {
  const invalid = (expected: string) =>
    new HermesError('plugins/invalid-registration', `daemon ${name} of ${owner}: expected ${expected}`)
  if (!(stopMs >= 0)) throw invalid('shutdownTimeoutMs, a number of milliseconds')
  if (task === undefined) return
  if (typeof task.run !== 'function') throw invalid('a periodicTask with a function run')
  if (!(task.intervalMs > 0)) throw invalid('a periodicTask with intervalMs above 0')
}
