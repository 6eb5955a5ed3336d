/**
 * The daemons of all plugins (seed 003): started in the order of registration, stopped in reverse, by the life of the
 * gateway. Where nobody calls `start`, as on the command line, none of them runs.
 */
import { HermesError } from '../../lib/errors.ts'
import type { Awaitable, Registration } from '../../middleware/contract.ts'
import type { DaemonOptions } from '../contract.ts'
import { createDaemon, type Daemon, type DaemonDeps, type DaemonStatus } from './daemon.ts'

export type { DaemonDeps, DaemonStatus } from './daemon.ts'

export interface Daemons {
  /** Throws `plugins/daemon-taken`, `plugins/invalid-registration`. Once the gateway runs it is started at once; taken away, it is stopped. */
  register(
    owner: string,
    name: string,
    startup: () => Awaitable<unknown>,
    shutdown: () => Awaitable<unknown>,
    options?: DaemonOptions,
  ): Registration
  /** Resolves when the daemons of a plugin that were taken away have stopped. Never rejects. */
  stopped(owner: string): Promise<void>
  /** Resolves when each has been started or has failed to start. Never rejects. */
  start(): Promise<void>
  /** Resolves when each has stopped or has taken its time. May be called twice. Never rejects. */
  stop(): Promise<void>
  /** In the order of registration. */
  status(): readonly DaemonStatus[]
}

export function createDaemons(deps: DaemonDeps): Daemons {
  const daemons = new Map<string, Daemon>()
  /** Taken away, and not stopped yet. */
  const stopping = new Set<{ readonly owner: string; readonly gone: Promise<void> }>()
  let phase: 'before' | 'running' | 'over' = 'before'
  /** The next one begins when the one before it is up. */
  let starting = Promise.resolve()

  function enqueueStart(daemon: Daemon): void {
    starting = starting.then(() => daemon.start())
  }

  function removeDaemon(daemon: Daemon): boolean {
    if (daemons.get(daemon.name) !== daemon) return false
    daemons.delete(daemon.name)
    const entry = { owner: daemon.owner, gone: daemon.stop() }
    stopping.add(entry)
    void entry.gone.then(() => stopping.delete(entry))
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

    async stopped(owner) {
      await Promise.all(
        [...stopping].filter((entry) => entry.owner === owner).map(({ gone: stopPromise }) => stopPromise),
      )
    },

    async start() {
      if (phase !== 'before') return
      phase = 'running'
      for (const daemon of daemons.values()) enqueueStart(daemon)
      await starting
    },

    async stop() {
      phase = 'over'
      for (const daemon of [...daemons.values()].reverse()) await daemon.stop()
      await Promise.all([...stopping].map(({ gone }) => gone))
    },

    status: () => [...daemons.values()].map((daemon) => daemon.status()),
  }
}

/** Plugins may be written without types, and a task every NaN ms would never rest. */
function validateOptions(
  owner: string,
  name: string,
  { periodicTask: task, shutdownTimeoutMs: stopMs = 1 }: DaemonOptions,
): void {
  const wrong = (what: string) =>
    new HermesError('plugins/invalid-registration', `daemon ${name} of ${owner}: expected ${what}`)
  if (!(stopMs >= 0)) throw wrong('shutdownTimeoutMs, a number of milliseconds')
  if (task === undefined) return
  if (typeof task.run !== 'function') throw wrong('a periodicTask with a function run')
  if (!(task.intervalMs > 0)) throw wrong('a periodicTask with intervalMs above 0')
}
