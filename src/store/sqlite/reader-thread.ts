/**
 * One thread for reads of the database that may take long. Requests run one after another, so that many of them cost neither
 * memory nor processors. The thread is kept while requests come.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { z } from 'zod'
import { type ErrorCode, errorCatalogue } from '../../lib/error-catalogue.ts'
import { HermesError } from '../../lib/errors.ts'
import { linkAbortSignal, raceAbort } from '../../lib/timers.ts'
import { toStoreError } from './connection.ts'

export interface ReaderThread {
  /**
   * Resolves with the answer of the thread. Rejects with the reason of the signal, with `store/...`, and with an `Error` that
   * says what else failed.
   */
  ask(request: object, signal: AbortSignal): Promise<unknown>
}

const maxWaiting = 100
const timeoutMs = 30_000
const idleMs = 5_000

const problemShape = z.object({
  problem: z.string(),
  code: z.custom<ErrorCode>((code) => typeof code === 'string' && Object.hasOwn(errorCatalogue, code)).optional(),
  errcode: z.number().optional(),
})
const replyShape = z.union([z.object({ answer: z.unknown() }), problemShape])

/** @param script answers each request with `{ answer }` or `{ problem }`, which `toProblem` makes of an error */
export function createReaderThread(script: URL): ReaderThread {
  let worker: Worker | undefined
  let idle: NodeJS.Timeout | undefined
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  /** SQLite ends a statement before the thread can end. */
  let closing: Promise<unknown> = Promise.resolve()

  function start(): Worker {
    const started = new Worker(script)
    // During a request, its caller receives the error, too.
    started.on('error', () => {
      if (worker === started) worker = undefined
    })
    worker = started
    return started
  }

  function end(): void {
    closing = worker?.terminate() ?? Promise.resolve()
    worker = undefined
  }

  /** What takes too long ends with its thread. */
  async function read(request: object, signal: AbortSignal): Promise<unknown> {
    clearTimeout(idle)
    const limit = linkAbortSignal(signal)
    const timer = setTimeout(() => {
      limit.abort(new Error(`reading the conversations took longer than ${timeoutMs / 1_000} seconds`))
    }, timeoutMs)
    const thread = worker ?? start()
    thread.ref()
    try {
      const replied = once(thread, 'message', { signal: limit.signal })
      thread.postMessage(request)
      const [message] = await replied
      const reply = replyShape.parse(message)
      if ('problem' in reply) throw fromProblem(reply)
      return reply.answer
    } catch (error) {
      if (!limit.signal.aborted) throw error
      end()
      throw limit.signal.reason
    } finally {
      clearTimeout(timer)
      limit.release()
      thread.unref()
      idle = setTimeout(end, idleMs)
      idle.unref()
    }
  }

  return {
    async ask(request, signal) {
      signal.throwIfAborted()
      if (waiting >= maxWaiting) throw new HermesError('store/too-many-reads')
      waiting += 1
      const previous = last
      const { promise: ended, resolve } = Promise.withResolvers<void>()
      last = previous.then(() => ended)
      try {
        await raceAbort(previous, signal)
        return await read(request, signal)
      } finally {
        waiting -= 1
        void closing.then(() => resolve())
      }
    },
  }
}

/** `store/...` for what SQLite has refused. */
function fromProblem({ problem, code, errcode }: z.output<typeof problemShape>): unknown {
  if (code !== undefined) return new HermesError(code, problem)
  return toStoreError(Object.assign(new Error(problem), { errcode }))
}
