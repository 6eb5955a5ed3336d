/**
 * One worker per chat that has something to send. A chat without open rows has no worker and costs nothing.
 */
import { messageOf } from '../lib/errors.ts'
import { within } from '../lib/wait.ts'
import type { Chat, OutboxRow } from './queries.ts'
import type { Room } from './room.ts'
import { chatKey } from './sender.ts'
import { type Worker, workChat } from './worker.ts'

/** Timers of Node hold 24 days. Who wakes early looks again. */
const longestPauseMs = 86_400_000

export interface Delivery {
  /** Whether the chat has open rows, as far as is known without asking the disk. */
  busy(chat: Chat): boolean
  /** A transaction claims this row itself; `start` will follow, or `disown` when the transaction failed. */
  expect(rowId: number): void
  disown(rowId: number): void
  /** Sees that the open rows of a chat are sent. `claimed` is a row announced with `expect`. */
  start(chat: Chat, claimed?: OutboxRow): void
  /** As `start`, and ends a wait: the order of the chat has changed. */
  look(chat: Chat): void
  /** Ends every wait of an account's chats. */
  wake(platform: string, account: string): void
  /** Resolves when no worker has anything to do right now. */
  settled(): Promise<void>
  /** Ends all waits and resolves when all workers have ended, or `withinMs` are over; true when they have. */
  ended(withinMs: number): Promise<boolean>
}

interface Running extends Worker {
  waiting: AbortController | undefined
  done: Promise<void>
}

export function createDelivery(room: Room): Delivery {
  const workers = new Map<string, Running>()
  /** Rows claimed by transactions whose callers have not come back yet; a worker that is faster takes them over. */
  const expected = new Set<number>()
  /** Workers that do something instead of waiting. */
  let active = 0
  let listeners: (() => void)[] = []

  function activeBy(change: 1 | -1): void {
    active += change
    if (active > 0) return
    const idle = listeners
    listeners = []
    for (const listener of idle) listener()
  }

  function hire(chat: Chat): Running {
    const worker: Running = {
      chat,
      again: false,
      waiting: undefined,
      done: Promise.resolve(),
      taken: (rowId) => void expected.delete(rowId),
      wait: (ms) =>
        idle((signal) => (ms === undefined ? aborted(signal) : room.pause(Math.min(ms, longestPauseMs), signal))),
      gone: () => void workers.delete(chatKey(chat)),
      turn: () => idle((signal) => room.budget.wait(chat, 'final', signal)),
    }
    return worker

    async function idle<T>(during: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
      if (room.quit.aborted) return undefined
      const waiting = new AbortController()
      worker.waiting = waiting
      activeBy(-1)
      try {
        return await during(waiting.signal)
      } finally {
        activeBy(1)
        worker.waiting = undefined
      }
    }
  }

  async function run(worker: Running, claimed: OutboxRow | undefined): Promise<void> {
    activeBy(1)
    try {
      await workChat(room, worker, claimed)
    } catch (error) {
      // Nothing in there is meant to throw; its rows stay on disk and are found at the next start.
      room.log.error({ error, ...worker.chat }, `delivery to a chat ended unexpectedly: ${messageOf(error)}`)
    } finally {
      activeBy(-1)
    }
  }

  function start(chat: Chat, claimed?: OutboxRow): void {
    const mine = claimed !== undefined && expected.delete(claimed.id)
    const key = chatKey(chat)
    const known = workers.get(key)
    if (known !== undefined) {
      known.again = true
      return
    }
    // After a stop only a row that is claimed on disk is worth a worker: it gives the claim back.
    if (room.quit.aborted && !mine) return
    const worker = hire(chat)
    workers.set(key, worker)
    worker.done = run(worker, mine ? claimed : undefined)
  }

  function nextIdle(): Promise<void> {
    return new Promise((resolve) => {
      if (active === 0) resolve()
      else listeners.push(resolve)
    })
  }

  return {
    busy: (chat) => workers.has(chatKey(chat)),
    expect: (rowId) => void expected.add(rowId),
    disown: (rowId) => void expected.delete(rowId),
    start,
    look(chat) {
      start(chat)
      workers.get(chatKey(chat))?.waiting?.abort()
    },
    wake(platform, account) {
      for (const { chat, waiting } of workers.values()) {
        if (chat.platform === platform && chat.account === account) waiting?.abort()
      }
    },
    async settled() {
      do {
        // Whoever has just been woken needs one round of the event loop to be seen at work.
        await new Promise((resolve) => setImmediate(resolve))
        await nextIdle()
      } while (active > 0)
    },
    async ended(withinMs) {
      for (const { waiting } of workers.values()) waiting?.abort()
      const all = Promise.all([...workers.values()].map(({ done }) => done))
      return (await within(all, withinMs)).done
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
