/**
 * Runs one worker per chat with open rows. A chat without open rows has no worker and costs nothing.
 */
import { messageOf } from '../lib/errors.ts'
import { onAbort, withTimeout } from '../lib/timers.ts'
import type { OutboxContext } from './context.ts'
import { type Chat, chatKey, type OutboxRow } from './queries.ts'
import { runWorker, type Worker } from './worker.ts'

/** Below the limit of Node's timers, 24 days. A worker that wakes early reads its rows again. */
const maxSleepMs = 86_400_000

export interface Delivery {
  /** Whether the chat has a worker, and so probably open rows. */
  isBusy(chat: Chat): boolean
  /** Announces a row that the transaction of a reply claims. `start` follows, or `release` when the transaction failed. */
  reserve(row: OutboxRow): void
  /** Ends this claim, and not one of a later try for a row with the same id. */
  release(row: OutboxRow): void
  /** Delivers the open rows of a chat. `claimed`: a row announced with `reserve`. */
  start(chat: Chat, claimed?: OutboxRow): void
  /** Works like `start`, and ends a wait, because the order of the chat has changed. */
  recheck(chat: Chat): void
  /** Ends the waits of all chats of an account. */
  wake(platform: string, account: string): void
  /** Resolves when no worker can do anything now. */
  whenIdle(): Promise<void>
  /** Ends all waits. Resolves when all workers have ended (true), or after `graceMs` (false). */
  stop(graceMs: number): Promise<boolean>
}

interface RunningWorker extends Worker {
  waitController: AbortController | undefined
  done: Promise<void>
}

export function createDelivery(context: OutboxContext): Delivery {
  const workers = new Map<string, RunningWorker>()
  /** Rows claimed by transactions whose callers have not called `start` yet. A running worker may take them first. */
  const reserved = new Map<number, OutboxRow>()
  /** The number of workers that are not waiting. */
  let active = 0
  let listeners: (() => void)[] = []

  function changeActive(change: 1 | -1): void {
    active += change
    if (active > 0) return
    const idle = listeners
    listeners = []
    for (const listener of idle) listener()
  }

  function createWorker(chat: Chat): RunningWorker {
    const worker: RunningWorker = {
      chat,
      rowsAdded: false,
      waitController: undefined,
      done: Promise.resolve(),
      onClaimed: (rowId) => void reserved.delete(rowId),
      wait: (ms) =>
        idle((signal) => (ms === undefined ? waitForAbort(signal) : context.sleep(Math.min(ms, maxSleepMs), signal))),
      onStopped: () => void workers.delete(chatKey(chat)),
      acquirePermit: () => idle((signal) => context.rateLimiter.acquire(chat, 'final', signal)),
    }
    return worker

    async function idle<T>(wait: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
      if (context.drainSignal.aborted) return undefined
      const waiting = new AbortController()
      worker.waitController = waiting
      changeActive(-1)
      try {
        return await wait(waiting.signal)
      } finally {
        changeActive(1)
        worker.waitController = undefined
      }
    }
  }

  async function run(worker: RunningWorker, claimed: OutboxRow | undefined): Promise<void> {
    changeActive(1)
    try {
      await runWorker(context, worker, claimed)
    } catch (error) {
      // A bug: the worker must not throw. Its rows are delivered after the next start.
      context.log.error(
        { event: 'outbox.worker_failed', ...worker.chat, err: error },
        `delivery to a chat ended unexpectedly: ${messageOf(error)}`,
      )
    } finally {
      changeActive(-1)
    }
  }

  function start(chat: Chat, claimed?: OutboxRow): void {
    const isReserved = claimed !== undefined && reserved.delete(claimed.id)
    const key = chatKey(chat)
    const known = workers.get(key)
    if (known !== undefined) {
      known.rowsAdded = true
      return
    }
    // During a stop a worker is only needed to return a stored claim to the queue.
    if (context.drainSignal.aborted && !isReserved) return
    const worker = createWorker(chat)
    workers.set(key, worker)
    worker.done = run(worker, isReserved ? claimed : undefined)
  }

  function nextIdle(): Promise<void> {
    return new Promise((resolve) => {
      if (active === 0) resolve()
      else listeners.push(resolve)
    })
  }

  return {
    isBusy: (chat) => workers.has(chatKey(chat)),
    reserve: (row) => void reserved.set(row.id, row),
    release(row) {
      if (reserved.get(row.id) === row) reserved.delete(row.id)
    },
    start,
    recheck(chat) {
      start(chat)
      workers.get(chatKey(chat))?.waitController?.abort()
    },
    wake(platform, account) {
      for (const { chat, waitController } of workers.values()) {
        if (chat.platform === platform && chat.account === account) waitController?.abort()
      }
    },
    async whenIdle() {
      do {
        // A worker that was just woken becomes active in the next round of the event loop.
        await new Promise((resolve) => setImmediate(resolve))
        await nextIdle()
      } while (active > 0)
    },
    async stop(graceMs) {
      for (const { waitController } of workers.values()) waitController?.abort()
      const all = Promise.all([...workers.values()].map(({ done }) => done))
      return (await withTimeout(all, graceMs)).done
    },
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, resolve))
}
