/**
 * The events of the gateway for clients that read on and wait. Loaded with the first client; without clients for some minutes it
 * observes nothing and keeps nothing.
 */
import { HermesError } from '../../lib/errors.ts'
import { onAbort } from '../../lib/timers.ts'
import type { EventPage } from './api-event.ts'
import { type EventLog, type EventLogDeps, type EventQuery, matches, openEventLog } from './event-log.ts'

export type { EventQuery } from './event-log.ts'

export interface EventFeed {
  /**
   * The events after a cursor. Without any it waits for one, at most `waitMs`, until the signal aborts or the gateway stops; the
   * page is then empty. Rejects `store/...`, and `http/busy` when too many clients wait.
   */
  read(query: EventQuery, waitMs: number, signal: AbortSignal): Promise<EventPage>
}

/** Clients that wait at the same time. */
const maxWaiting = 2_000
const idleMs = 600_000

/**
 * @param stopping aborts when the gateway stops
 * @param setTimer calls once after `ms` without keeping the process; returns a function that cancels it
 */
export function createEventFeed(
  deps: EventLogDeps,
  stopping: AbortSignal,
  setTimer: (call: () => void, ms: number) => () => void,
): EventFeed {
  const waiting = new Set<{ readonly query: EventQuery; readonly wake: () => void }>()
  let readers = 0
  let opening: Promise<EventLog> | undefined
  let cancelClose: (() => void) | undefined

  function open(): Promise<EventLog> {
    cancelClose?.()
    cancelClose = undefined
    opening ??= openEventLog(deps, (event) => {
      for (const { query, wake } of waiting) if (matches(query, event)) wake()
    }).catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }

  function close(): void {
    const closing = opening
    opening = undefined
    closing?.then(
      (log) => log.close(),
      // Its reader was told.
      () => undefined,
    )
  }

  async function wait(query: EventQuery, ms: number, signal: AbortSignal): Promise<void> {
    if (waiting.size >= maxWaiting) throw new HermesError('http/busy')
    const woken = Promise.withResolvers<void>()
    const waiter = { query, wake: () => woken.resolve() }
    waiting.add(waiter)
    const listeners = [signal, stopping].map((each) => onAbort(each, waiter.wake))
    const timer = setTimeout(waiter.wake, ms)
    try {
      await woken.promise
    } finally {
      clearTimeout(timer)
      waiting.delete(waiter)
      for (const removeListener of listeners) removeListener()
    }
  }

  async function readFrom(log: EventLog, query: EventQuery, waitMs: number, signal: AbortSignal): Promise<EventPage> {
    const until = performance.now() + waitMs
    for (let after = query.after; ; ) {
      const page = await log.page({ ...query, after })
      const left = until - performance.now()
      const isOver = left <= 0 || signal.aborted || stopping.aborted
      if (page.events.length > 0 || page.missed || isOver) return page
      after = Number(page.next_cursor)
      // An event may have come while the page was on its way here.
      if (log.last() === after) await wait(query, left, signal)
    }
  }

  return {
    async read(query, waitMs, signal) {
      readers += 1
      try {
        return await readFrom(await open(), query, waitMs, signal)
      } finally {
        readers -= 1
        if (readers === 0) cancelClose = setTimer(close, idleMs)
      }
    },
  }
}
