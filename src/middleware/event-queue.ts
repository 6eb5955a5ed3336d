/**
 * Events on their way to subscribers: one bounded queue, emptied in order and outside of every call. A call never waits
 * for it; when it is full, events are dropped and counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import type { ManagedEvent } from './contract.ts'
import type { FailureReporter } from './failures.ts'
import { catchTo, isThenable } from './promises.ts'
import type { Entries, Subscriber } from './registry.ts'

export interface EventDelivery {
  readonly event: ManagedEvent
  /** Sanitizers; must not reject. Undefined where there are none. */
  readonly sanitize: (() => Promise<void>) | undefined
  readonly subscribers: Entries<Subscriber>
}

export interface EventQueue {
  push(delivery: EventDelivery): void
  /** Resolves when everything pushed so far was delivered. */
  flush(): Promise<void>
  counts(): { readonly waiting: number; readonly delivered: number; readonly dropped: number }
}

export interface EventQueueDeps {
  readonly log: Logger
  readonly failures: FailureReporter
  /** More than this are dropped. */
  readonly maxQueued: number
  /** A subscriber that takes this long (at most twice as long) for one event is not waited for. */
  readonly subscriberTimeoutMs: number
}

interface QueueItem {
  readonly delivery: EventDelivery | undefined
  /** Of a barrier. */
  readonly onReached: (() => void) | undefined
  next: QueueItem | undefined
}

/** As many are delivered at once before other work gets its turn. */
const batchSize = 512

export function createEventQueue({
  log,
  failures,
  maxQueued: limit,
  subscriberTimeoutMs: stuckMs,
}: EventQueueDeps): EventQueue {
  // Whoever pushes runs in the context of a call; subscribers are no part of it.
  const runOutsideCalls = AsyncLocalStorage.snapshot()
  let head: QueueItem | undefined
  let tail: QueueItem | undefined
  let busy = false
  let pendingImmediate: NodeJS.Immediate | undefined
  let waiting = 0
  let delivered = 0
  let dropped = 0
  let droppedBefore = 0
  const watchdog = createSubscriberWatchdog(stuckMs, () =>
    log.warn(
      { event: 'middleware.subscriber_timeout', waiting, stuckMs },
      'a subscriber takes too long for an event; the queue continues without waiting for it',
    ),
  )

  const append = (delivery: EventDelivery | undefined, onReached: (() => void) | undefined) => {
    const item: QueueItem = { delivery, onReached, next: undefined }
    if (tail === undefined) head = item
    else tail.next = item
    tail = item
    if (!busy) {
      busy = true
      queueMicrotask(go)
    } else if (pendingImmediate !== undefined && waiting > limit / 2) {
      // Whoever pushes so fast lets nothing else run; waiting for a turn would only drop events.
      clearImmediate(pendingImmediate)
      pendingImmediate = undefined
      queueMicrotask(go)
    }
  }
  const go = () => runOutsideCalls(drain)
  const yieldToEventLoop = () => {
    pendingImmediate = setImmediate(() => {
      pendingImmediate = undefined
      go()
    })
  }
  const drain = () => {
    for (let left = batchSize; head !== undefined; left--) {
      if (left === 0) return yieldToEventLoop()
      const item = head
      head = item.next
      if (head === undefined) tail = undefined
      item.onReached?.()
      if (item.delivery === undefined) continue
      const pending = deliver(item.delivery)
      if (pending !== undefined) {
        void watchdog.over(pending).then(onDelivered)
        return
      }
      count()
    }
    busy = false
    logDropped()
  }
  const onDelivered = () => {
    count()
    drain()
  }
  const count = () => {
    waiting -= 1
    delivered += 1
  }
  const logDropped = () => {
    if (dropped === droppedBefore) return
    log.warn(
      { event: 'middleware.events_dropped', dropped: dropped - droppedBefore, limit },
      'events were dropped because subscribers are too slow',
    )
    droppedBefore = dropped
  }

  /** Undefined when every subscriber was done at once. */
  const deliver = ({ event, sanitize, subscribers }: EventDelivery): Promise<unknown> | undefined =>
    sanitize === undefined
      ? callSubscribers(event, subscribers)
      : sanitize().then(() => callSubscribers(event, subscribers))

  const callSubscribers = (event: ManagedEvent, subscribers: Entries<Subscriber>): Promise<unknown> | undefined => {
    const pending: Promise<unknown>[] = []
    for (const entry of subscribers) {
      const failed = (error: unknown) =>
        failures.report(entry, 'subscriber', error, 'the event is lost for this subscriber')
      try {
        const answer: unknown = entry.callback(event)
        if (isThenable(answer)) pending.push(catchTo(answer, failed))
      } catch (error) {
        failed(error)
      }
    }
    if (pending.length < 2) return pending[0]
    return Promise.all(pending)
  }

  return {
    push(delivery) {
      if (waiting >= limit) {
        dropped += 1
        return
      }
      waiting += 1
      append(delivery, undefined)
    },
    flush: () => (busy ? new Promise((resolve) => append(undefined, resolve)) : Promise.resolve()),
    counts: () => ({ waiting, delivered, dropped }),
  }
}

/** Lets go of what takes too long, with one timer for all of it instead of one for each. */
function createSubscriberWatchdog(stuckMs: number, onTimeout: () => void) {
  let current: (() => void) | undefined
  let seen: (() => void) | undefined
  let armed = false
  const check = () => {
    armed = false
    if (current === undefined) return
    if (current === seen) {
      onTimeout()
      current()
    } else {
      seen = current
      arm()
    }
  }
  const arm = () => {
    if (armed) return
    armed = true
    setTimeout(check, stuckMs).unref()
  }
  return {
    /** Resolves with the work, or when it takes too long. The work must not reject. */
    over: (work: Promise<unknown>) =>
      new Promise<void>((resolve) => {
        const done = () => {
          if (current === done) current = undefined
          resolve()
        }
        current = done
        arm()
        void work.then(done)
      }),
  }
}
