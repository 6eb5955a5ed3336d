/**
 * The sandbox of one conversation. It is found by its name, so that a restarted gateway uses it again. Modal ends a sandbox
 * after some time; its files are kept as an image, from which the next one is created.
 */
import { HermesError, isHermesError, messageOf, withTimeout } from '#sdk'
import type { ModalClient, ModalSandbox } from './load-client.ts'

export interface SandboxSettings {
  readonly app: string
  readonly image: string
  /** 0 for the default of Modal. */
  readonly cpu: number
  readonly memoryMb: number
  readonly lifetimeMinutes: number
  readonly idleMinutes: number
}

export interface SandboxOptions {
  /** Rejects with `HermesError` without keys or without the SDK. */
  client(): Promise<ModalClient>
  readonly name: string
  readonly sessionId: string
  settings(): SandboxSettings
  /** The image of the files of the sandbox before; undefined for none. */
  readonly snapshot: { get(): Promise<string | undefined>; set(id: string): Promise<void> }
}

export interface Sandbox {
  readonly name: string
  start(signal: AbortSignal): Promise<void>
  runScript(script: string, signal: AbortSignal): Promise<string>
  /** Ends it. `keepsFiles`: the next one has its files. */
  stop(options: { readonly keepsFiles: boolean }): Promise<void>
}

/** Modal may have to fetch the image first. */
const maxStartMs = 600_000
const scriptTimeoutMs = 45_000
const minuteMs = 60_000

export function createSandbox({ client, name, sessionId, settings, snapshot }: SandboxOptions): Sandbox {
  let sandbox: ModalSandbox | undefined
  let opening: Promise<ModalSandbox> | undefined

  async function open(): Promise<ModalSandbox> {
    const modal = await client()
    const { app: appName, image, cpu, memoryMb, lifetimeMinutes, idleMinutes } = settings()
    const running = await modal.sandboxes.fromName(appName, name).catch(ignoreMissing)
    if (running !== undefined) return running
    const app = await modal.apps.fromName(appName, { createIfMissing: true })
    const imageId = await snapshot.get()
    const base = imageId === undefined ? modal.images.fromRegistry(image) : await modal.images.fromId(imageId)
    return await modal.sandboxes.create(app, base, {
      name,
      tags: { hermes_task_id: sessionId, hermes_gateway: '1' },
      ...(cpu === 0 ? {} : { cpu }),
      ...(memoryMb === 0 ? {} : { memoryMiB: memoryMb }),
      timeoutMs: lifetimeMinutes * minuteMs,
      idleTimeoutMs: idleMinutes * minuteMs,
    })
  }

  /** Callers share one attempt. */
  async function ready(signal: AbortSignal): Promise<ModalSandbox> {
    if (sandbox !== undefined) return sandbox
    opening ??= open().finally(() => {
      opening = undefined
    })
    sandbox = await within(opening, maxStartMs, signal)
    return sandbox
  }

  return {
    name,
    async start(signal) {
      try {
        await ready(signal)
      } catch (error) {
        if (signal.aborted || isHermesError(error)) throw error
        throw new HermesError('environment/unreachable', `Modal: ${messageOf(error)}`, {
          cause: error,
          hint: 'Check MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, and the setting `image`.',
        })
      }
    },
    async runScript(script, signal) {
      const running = await ready(signal)
      try {
        const process = await within(
          running.exec(['sh', '-c', script], { timeoutMs: scriptTimeoutMs }),
          scriptTimeoutMs,
          signal,
        )
        const [output] = await within(Promise.all([process.stdout.readText(), process.wait()]), scriptTimeoutMs, signal)
        return output
      } catch (error) {
        // Modal may have ended it: the next attempt looks, and creates another one.
        sandbox = undefined
        throw error
      }
    },
    async stop({ keepsFiles }) {
      const ended = sandbox
      sandbox = undefined
      if (ended === undefined) return
      if (keepsFiles) await snapshot.set((await ended.snapshotFilesystem()).imageId)
      await ended.terminate()
    },
  }
}

/** Rejects with the reason of the signal, or after the time. The call itself goes on. */
async function within<Value>(work: Promise<Value>, ms: number, signal: AbortSignal): Promise<Value> {
  const result = await withTimeout(work, ms, signal)
  if (result.done) return result.value
  signal.throwIfAborted()
  throw new Error(`Modal did not answer within ${ms / 1_000} seconds.`)
}

function ignoreMissing(error: unknown): undefined {
  if (error instanceof Error && error.name === 'NotFoundError') return undefined
  throw error
}
