/**
 * A host: its process starts at the first call, and after an end of whatever kind at the next one.
 */
import { pause } from '../lib/wait.ts'
import type { Host, HostCall, HostLimits, HostModule, HostOptions, HostResult, HostStatus } from './contract.ts'
import { failureOf, type HostFailure, stopped } from './failure.ts'
import type { beginLife, Life } from './life.ts'

export const defaultLimits: HostLimits = {
  startMs: 10_000,
  loadMs: 10_000,
  graceMs: 250,
  exitMs: 1_000,
  memoryMb: 512,
  maxFrameBytes: 16 * 1024 * 1024,
  maxRequests: 64,
}

/** Processes on which a call is tried that did not begin on the ones before. */
const maxAttempts = 3

export function createHost(options: HostOptions): Host {
  const { name, modules } = options
  const known = new Map<string, HostModule>(modules.map((module) => [module.name, module]))
  const [only, ...others] = modules
  // What is printed belongs to the only handler there is, or to nobody in particular.
  const log = options.log.child({ host: name, ...(only && others.length === 0 ? { module: only.name } : {}) })
  const limits = { ...defaultLimits, ...options.limits }
  let life: Life | undefined
  let starts = 0
  let kills = 0
  let stopping: Promise<void> | undefined

  const alive = (begin: typeof beginLife) => {
    if (life !== undefined) return life
    const begun = begin({ pause, ...options, log, limits })
    starts += 1
    life = begun
    void begun.over.then(({ killed }) => {
      if (killed) kills += 1
      if (life === begun) life = undefined
    })
    return begun
  }
  /**
   * Runs something on a process that lives. What had not begun when another handler took the process along is tried
   * again on the next one.
   */
  const on = async <Value>(
    module: string,
    run: (life: Life, found: HostModule) => Promise<HostResult<Value>>,
  ): Promise<HostResult<Value>> => {
    const found = known.get(module)
    if (found === undefined) {
      return { ok: false, failure: failureOf('unloadable', `${name} has no module ${module}.`, { begun: false }) }
    }
    // A gateway whose hooks never hear anything does not pay for what runs them.
    const { beginLife } = await import('./life.ts')
    for (let attempt = 1; ; attempt++) {
      if (stopping !== undefined) return { ok: false, failure: stopped(name) }
      const current = alive(beginLife)
      const result = await run(current, found)
      if (result.ok || attempt === maxAttempts || !isUntouched(result.failure)) return result
      await current.over
    }
  }

  return {
    load: (module) => on(module, (current, found) => current.load(found)),
    call: (call: HostCall) => on(call.module, (current, found) => current.call(found, call)),
    status(): HostStatus {
      const runtime = life?.runtime()
      const pid = life?.pid
      const running = runtime === undefined ? 'starting' : 'running'
      return {
        state: stopping !== undefined ? 'stopped' : life === undefined ? 'idle' : running,
        ...(pid === undefined ? {} : { pid }),
        ...(runtime === undefined ? {} : { runtime }),
        starts,
        kills,
        inFlight: life?.inFlight() ?? 0,
      }
    },
    stop({ drainMs = 0 } = {}) {
      stopping ??= life?.end(drainMs) ?? Promise.resolve()
      return stopping
    },
  }
}

/** It fell with a process through no doing of its own, before it was entered. */
function isUntouched({ kind, begun, fault }: HostFailure): boolean {
  return kind === 'died' && !begun && fault === 'other'
}
