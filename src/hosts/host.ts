/**
 * A host: its process starts at the first call, and after an end of whatever kind at the next one.
 */
import { sleep } from '../lib/timers.ts'
import type { Host, HostCall, HostLimits, HostModule, HostOptions, HostResult, HostStatus } from './contract.ts'
import { createHostFailure, type HostFailure, hostStoppedFailure } from './failure.ts'
import type { startWorkerProcess, WorkerProcess } from './worker-process.ts'

export const defaultLimits: HostLimits = {
  startTimeoutMs: 10_000,
  loadTimeoutMs: 10_000,
  graceMs: 250,
  exitTimeoutMs: 1_000,
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
  let worker: WorkerProcess | undefined
  let starts = 0
  let kills = 0
  let stopping: Promise<void> | undefined

  const ensureProcess = (startProcess: typeof startWorkerProcess) => {
    if (worker !== undefined) return worker
    const started = startProcess({ sleep, ...options, log, limits })
    starts += 1
    worker = started
    void started.exited.then(({ killed }) => {
      if (killed) kills += 1
      if (worker === started) worker = undefined
    })
    return started
  }
  /**
   * Runs something on a process that lives. What had not begun when another handler took the process along is tried
   * again on the next one.
   */
  const runOnProcess = async <Value>(
    module: string,
    run: (life: WorkerProcess, found: HostModule) => Promise<HostResult<Value>>,
  ): Promise<HostResult<Value>> => {
    const found = known.get(module)
    if (found === undefined) {
      return {
        ok: false,
        failure: createHostFailure('unloadable', `${name} has no module ${module}.`, { started: false }),
      }
    }
    // A gateway whose hooks never hear anything does not pay for what runs them.
    const { startWorkerProcess } = await import('./worker-process.ts')
    for (let attempt = 1; ; attempt++) {
      if (stopping !== undefined) return { ok: false, failure: hostStoppedFailure(name) }
      const current = ensureProcess(startWorkerProcess)
      const result = await run(current, found)
      if (result.ok || attempt === maxAttempts || !isRetryable(result.failure)) return result
      await current.exited
    }
  }

  return {
    load: (module) => runOnProcess(module, (current, found) => current.load(found)),
    call: (call: HostCall) => runOnProcess(call.module, (current, found) => current.call(found, call)),
    status(): HostStatus {
      const runtime = worker?.runtime()
      const pid = worker?.pid
      const running = runtime === undefined ? 'starting' : 'running'
      return {
        state: stopping !== undefined ? 'stopped' : worker === undefined ? 'idle' : running,
        ...(pid === undefined ? {} : { pid }),
        ...(runtime === undefined ? {} : { runtime }),
        starts,
        kills,
        inFlight: worker?.inFlight() ?? 0,
      }
    },
    stop({ drainMs = 0 } = {}) {
      stopping ??= worker?.stop(drainMs) ?? Promise.resolve()
      return stopping
    },
  }
}

/** It fell with a process through no doing of its own, before it was entered. */
function isRetryable({ kind, started, attribution }: HostFailure): boolean {
  return kind === 'died' && !started && attribution === 'other'
}
