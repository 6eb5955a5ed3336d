/**
 * The sandbox of one conversation. It is found by its name, so that a restarted gateway uses it again.
 */
import { asNumber, asString, type Fields, HermesError, sleep } from '#sdk'
import type { DaytonaClient } from './client.ts'

export interface SandboxSettings {
  /** '' for the snapshot that Daytona has by default. */
  readonly image: string
  readonly target: string | undefined
  /** 0 for the default of Daytona. */
  readonly cpu: number
  readonly memoryGb: number
  readonly diskGb: number
  readonly autoStopMinutes: number
  readonly autoDeleteMinutes: number
}

export interface SandboxOptions {
  /** Throws `HermesError` without a key. */
  client(): DaytonaClient
  readonly name: string
  readonly sessionId: string
  settings(): SandboxSettings
}

export interface Sandbox {
  readonly name: string
  start(signal: AbortSignal): Promise<void>
  runScript(script: string, signal: AbortSignal): Promise<string>
  /** Stops it; its files stay. */
  sleep(): Promise<void>
  remove(): Promise<void>
}

const pollMs = 1_000
/** Daytona may have to build a snapshot of the image first. */
const maxStartMs = 600_000
const scriptTimeoutMs = 45_000
const endTimeoutMs = 30_000
/** Hermes has this limit of the platform. */
const maxDiskGb = 10

const failedStates = new Set(['error', 'build_failed', 'destroyed', 'destroying'])
const stoppedStates = new Set(['stopped', 'archived'])

export function createSandbox({ client, name, sessionId, settings }: SandboxOptions): Sandbox {
  const path = `/sandbox/${encodeURIComponent(name)}`
  let toolbox: string | undefined
  let starting: Promise<string> | undefined

  async function create(signal: AbortSignal): Promise<Fields> {
    const created = await client().request('POST', '/sandbox', { signal, body: creationOf(), timeoutMs: 120_000 })
    return created ?? {}
  }

  function creationOf(): Fields {
    const { image, target, cpu, memoryGb, diskGb, autoStopMinutes, autoDeleteMinutes } = settings()
    return {
      name,
      labels: { hermes_task_id: sessionId, hermes_gateway: '1' },
      autoStopInterval: autoStopMinutes,
      autoDeleteInterval: autoDeleteMinutes,
      target,
      ...(image === '' ? {} : { buildInfo: { dockerfileContent: `FROM ${image}\n` } }),
      // Only a sandbox from an image has resources of its own.
      ...(image === '' || cpu === 0 ? {} : { cpu }),
      ...(image === '' || memoryGb === 0 ? {} : { memory: memoryGb }),
      ...(image === '' || diskGb === 0 ? {} : { disk: Math.min(diskGb, maxDiskGb) }),
    }
  }

  /** Resolves with the address of its programs. */
  async function open(signal: AbortSignal): Promise<string> {
    const deadline = performance.now() + maxStartMs
    let isAsked = false
    let sandbox = (await client().request('GET', path, { signal })) ?? (await create(signal))
    for (;;) {
      const state = asString(sandbox['state'])
      if (state === 'started') return client().toolboxOf(sandbox)
      if (failedStates.has(state)) {
        throw new HermesError(
          'environment/unreachable',
          `The sandbox ${name} is ${state}: ${asString(sandbox['errorReason'])}`,
          {
            hint: `Look at ${name} in the dashboard of Daytona, and delete it to begin again.`,
          },
        )
      }
      if (performance.now() > deadline) {
        throw new HermesError('environment/unreachable', `The sandbox ${name} is still ${state} after ten minutes.`)
      }
      if (stoppedStates.has(state) && !isAsked) {
        isAsked = true
        await client().request('POST', `${path}/start`, { signal, timeoutMs: 120_000 })
      } else await sleep(pollMs, signal)
      sandbox = (await client().request('GET', path, { signal })) ?? { state: 'destroyed' }
    }
  }

  /** Callers share one attempt; one that gives up does not end it for the others. */
  async function ready(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted()
    if (toolbox !== undefined) return toolbox
    starting ??= open(AbortSignal.timeout(maxStartMs)).finally(() => {
      starting = undefined
    })
    const aborted = Promise.withResolvers<never>()
    const abort = () => aborted.reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      toolbox = await Promise.race([starting, aborted.promise])
      return toolbox
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async function end(method: 'POST' | 'DELETE', suffix: string): Promise<void> {
    if (toolbox === undefined) return
    toolbox = undefined
    await client().request(method, `${path}${suffix}`, { signal: AbortSignal.timeout(endTimeoutMs) })
  }

  return {
    name,
    async start(signal) {
      try {
        await ready(signal)
      } catch (error) {
        if (signal.aborted || error instanceof HermesError || !(error instanceof Error)) throw error
        throw new HermesError('environment/unreachable', error.message, { cause: error })
      }
    },
    async runScript(script, signal) {
      const address = await ready(signal)
      try {
        const reply = await client().request('POST', `${address}/process/execute`, {
          signal,
          body: { command: commandOf(script), timeout: scriptTimeoutMs / 1_000 },
          timeoutMs: scriptTimeoutMs,
        })
        if (reply === undefined) throw new Error('Daytona does not know the sandbox any more.')
        if (asNumber(reply['exitCode'] ?? reply['code']) === -1) throw new Error('Daytona could not run the script.')
        return asString(reply['result'])
      } catch (error) {
        // It may have been stopped: the next attempt looks, and starts it.
        toolbox = undefined
        throw error
      }
    },
    sleep: () => end('POST', '/stop'),
    remove: () => end('DELETE', ''),
  }
}

/** Daytona's older programs know quotes but no escapes, and start no shell. */
const commandOf = (script: string) => `sh -c 'eval "$(echo ${Buffer.from(script).toString('base64')} | base64 -d)"'`
