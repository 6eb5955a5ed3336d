/**
 * One worker per chat that has something to send. A chat without open rows has no worker and costs nothing.
 */
import { messageOf } from '../lib/errors.ts'
import { withTimeout } from '../lib/timers.ts'
import type { OutboxContext } from './context.ts'
import type { Chat, OutboxRow } from './queries.ts'
import { chatKey } from './sender.ts'
import { runWorker, type Worker } from './worker.ts'

/** Timers of Node hold 24 days. Who wakes early looks again. */
const maxSleepMs = 86_400_000

export interface Delivery {
  /** Whether the chat has open rows, as far as is known without asking the disk. */
  isBusy(chat: Chat): boolean
  /** A transaction claims this row itself; `start` will follow, or `disown` when the transaction failed. */
  reserve(rowId: number): void
  release(rowId: number): void
  /** Sees that the open rows of a chat are sent. `claimed` is a row announced with `expect`. */
  start(chat: Chat, claimed?: OutboxRow): void
  /** As `start`, and ends a wait: the order of the chat has changed. */
  recheck(chat: Chat): void
  /** Ends every wait of an account's chats. */
  wake(platform: string, account: string): void
  /** Resolves when no worker has anything to do right now. */
  whenIdle(): Promise<void>
  /** Ends all waits and resolves when all workers have ended, or `withinMs` are over; true when they have. */
  stop(withinMs: number): Promise<boolean>
}

interface RunningWorker extends Worker {
  waitController: AbortController | undefined
  done: Promise<void>
}

export function createDelivery(context: OutboxContext): Delivery {
  const workers = new Map<string, RunningWorker>()
  /** Rows claimed by transactions whose callers have not come back yet; a worker that is faster takes them over. */
  const reserved = new Set<number>()
  /** Workers that do something instead of waiting. */
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
      // Nothing in there is meant to throw; its rows stay on disk and are found at the next start.
      context.log.error({ error, ...worker.chat }, `delivery to a chat ended unexpectedly: ${messageOf(error)}`)
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
    // After a stop only a row that is claimed on disk is worth a worker: it gives the claim back.
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
    reserve: (rowId) => void reserved.add(rowId),
    release: (rowId) => void reserved.delete(rowId),
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
        // Whoever has just been woken needs one round of the event loop to be seen at work.
        await new Promise((resolve) => setImmediate(resolve))
        await nextIdle()
      } while (active > 0)
    },
    async stop(withinMs) {
      for (const { waitController } of workers.values()) waitController?.abort()
      const all = Promise.all([...workers.values()].map(({ done }) => done))
      return (await withTimeout(all, withinMs)).done
    },
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
