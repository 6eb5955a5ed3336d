/**
 * Threads for work that would hold the event loop.
 */
import { Worker } from 'node:worker_threads'
import { HermesError } from './errors.ts'
import { onAbort } from './timers.ts'

export interface WorkerThread {
  send(message: unknown): void
  /**
   * Resolves with the next message. Call it before the message can arrive. Rejects with `WorkerTimeoutError`, with
   * `agent/tool-failed` when the thread fails, or with the signal's reason.
   */
  receive(timeoutMs: number, signal: AbortSignal): Promise<unknown>
  /** Ends the thread, also in the middle of its work. May be called twice. */
  stop(): Promise<void>
}

export class WorkerTimeoutError extends HermesError {}

const defaultHeapMb = 512

/** `data` must be cloneable. Without `maxHeapMb`, the heap of the thread may have 512 MB. */
export function startWorker(file: URL, data: unknown, { maxHeapMb = defaultHeapMb } = {}): WorkerThread {
  const worker = new Worker(file, { workerData: data, resourceLimits: { maxOldGenerationSizeMb: maxHeapMb } })
  let failure: Error | undefined
  worker.on('error', (error) => {
    failure = error instanceof Error ? error : new Error(String(error))
  })
  return {
    send: (message) => worker.postMessage(message),
    async receive(timeoutMs, signal) {
      signal.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const fail = () => reject(new HermesError('agent/tool-failed', messageOf(failure), { cause: failure }))
      const timer = setTimeout(() => {
        reject(new WorkerTimeoutError('agent/tool-failed', `The work took longer than ${timeoutMs} ms.`))
      }, timeoutMs)
      const stopListening = onAbort(signal, () => reject(signal.reason))
      worker.once('message', resolve)
      worker.once('exit', fail)
      try {
        return await promise
      } finally {
        clearTimeout(timer)
        stopListening()
        worker.off('message', resolve)
        worker.off('exit', fail)
      }
    },
    async stop() {
      await worker.terminate()
    },
  }
}

/** The first message of a thread, which ends then. Rejects as `receive` does. */
export async function runInThread(file: URL, data: unknown, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
  const worker = startWorker(file, data)
  try {
    return await worker.receive(timeoutMs, signal)
  } finally {
    await worker.stop()
  }
}

function messageOf(failure: Error | undefined): string {
  return failure === undefined ? 'The work ended without a result.' : `The work failed: ${failure.message}`
}
