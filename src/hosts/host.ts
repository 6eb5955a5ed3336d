/**
 * A host. Its process starts with the first call, and after an exit with the next one.
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

/** Limit of processes that a call is tried on before its handler has started. */
const maxAttempts = 3

export function createHost(options: HostOptions): Host {
  const { name, modules } = options
  const known = new Map<string, HostModule>(modules.map((module) => [module.name, module]))
  const [only, ...others] = modules
  // With a single module, all output belongs to it.
  const log = options.log.child({ host: name, ...(only && others.length === 0 ? { module: only.name } : {}) })
  const limits = { ...defaultLimits, ...options.limits }
  let worker: WorkerProcess | undefined
  let starts = 0
  let kills = 0
  let stopping: Promise<void> | undefined

  const ensureProcess = (startProcess: typeof startWorkerProcess) => {
    if (worker !== undefined) return worker
    const started = startProcess({
      name,
      language: options.language,
      modules,
      env: options.env,
      cwd: options.cwd,
      command: options.command,
      cacheFolder: options.cacheFolder,
      onRequest: options.onRequest,
      onBackgroundRequest: options.onBackgroundRequest,
      onExit: options.onExit,
      sleep: options.sleep ?? sleep,
      log,
      limits,
    })
    starts += 1
    worker = started
    void started.exited.then(({ killed }) => {
      if (killed) kills += 1
      if (worker === started) worker = undefined
    })
    return started
  }
  /**
   * Runs an operation on a running process. An operation that had not started when another handler ended the process is
   * retried on the next process.
   */
  const runOnProcess = async <Value>(
    module: string,
    run: (worker: WorkerProcess, hostModule: HostModule) => Promise<HostResult<Value>>,
  ): Promise<HostResult<Value>> => {
    const hostModule = known.get(module)
    if (hostModule === undefined) {
      return {
        ok: false,
        failure: createHostFailure('unloadable', `${name} has no module ${module}.`, { started: false }),
      }
    }
    // Loaded on demand, because many gateways have no hooks and no Python plugins.
    const { startWorkerProcess } = await import('./worker-process.ts')
    for (let attempt = 1; ; attempt++) {
      if (stopping !== undefined) return { ok: false, failure: hostStoppedFailure(name) }
      const current = ensureProcess(startWorkerProcess)
      const result = await run(current, hostModule)
      if (result.ok || attempt === maxAttempts || !isRetryable(result.failure)) return result
      await current.exited
    }
  }

  return {
    load: (module) => runOnProcess(module, (current, hostModule) => current.load(hostModule)),
    call: (call: HostCall) => runOnProcess(call.module, (current, hostModule) => current.call(hostModule, call)),
    status(): HostStatus {
      const runtime = worker?.runtime()
      const pid = worker?.pid
      const running = runtime === undefined ? 'starting' : 'running'
      return {
        state: stopping !== undefined ? 'stopped' : worker === undefined ? 'idle' : running,
        pid,
        runtime,
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

/** Whether the process exited because of another handler before this one started. */
function isRetryable({ kind, started, attribution }: HostFailure): boolean {
  return kind === 'died' && !started && attribution === 'other'
}
