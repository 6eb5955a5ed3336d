/**
 * Delivers events to subscribers: one bounded queue, drained in order and outside the context of any call. A call never
 * waits for it. A full queue drops events and counts them.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import type { EventRecord } from './events.ts'
import type { FailureReporter } from './failures.ts'
import { catchTo, isThenable } from './promises.ts'
import type { Entries, Subscriber } from './registry.ts'

export interface EventDelivery {
  readonly event: EventRecord
  /** Must not reject. Undefined without sanitizers. */
  readonly sanitize: (() => Promise<void>) | undefined
  readonly subscribers: Entries<Subscriber>
}

export interface EventQueue {
  push(delivery: EventDelivery): void
  /** Whether more than half of the queue is used. */
  isCrowded(): boolean
  /** Resolves when all events pushed so far are delivered; at once if a sanitizer or a subscriber calls it. */
  flush(): Promise<void>
  counts(): { readonly waiting: number; readonly delivered: number; readonly dropped: number }
}

interface QueueItem {
  readonly delivery: EventDelivery | undefined
  /** Set for barriers, which carry no event. */
  readonly onReached: (() => void) | undefined
  next: QueueItem | undefined
}

/** Number of events that are delivered before the queue yields to the event loop. */
const batchSize = 512

/**
 * @param limit events beyond this number are dropped
 * @param stuckMs the queue moves on when a subscriber takes longer than this for one event, after twice this time at the latest
 */
export function createEventQueue(log: Logger, failures: FailureReporter, limit: number, stuckMs: number): EventQueue {
  // Events are pushed in the context of a call; subscribers must not run in it.
  const deliveryContext = new AsyncLocalStorage<true>()
  // Entering one context for both costs no more than leaving that of the call.
  const runOutsideCalls = deliveryContext.run(true, () => AsyncLocalStorage.snapshot())
  let head: QueueItem | undefined
  let tail: QueueItem | undefined
  let isDraining = false
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
    if (!isDraining) {
      isDraining = true
      queueMicrotask(drainOutsideCalls)
    } else if (pendingImmediate !== undefined && waiting > limit / 2) {
      // Events arrive faster than the event loop turns; waiting for a turn would drop events.
      clearImmediate(pendingImmediate)
      pendingImmediate = undefined
      queueMicrotask(drainOutsideCalls)
    }
  }
  const drainOutsideCalls = () => runOutsideCalls(drain)
  const yieldToEventLoop = () => {
    pendingImmediate = setImmediate(() => {
      pendingImmediate = undefined
      drainOutsideCalls()
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
        void watchdog.limit(pending).then(onDelivered)
        return
      }
      count()
    }
    isDraining = false
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

  /** `undefined` when every subscriber finished synchronously. */
  const deliver = ({ event, sanitize, subscribers }: EventDelivery): Promise<unknown> | undefined =>
    sanitize === undefined
      ? callSubscribers(event, subscribers)
      : sanitize().then(() => callSubscribers(event, subscribers))

  const callSubscribers = (event: EventRecord, subscribers: Entries<Subscriber>): Promise<unknown> | undefined => {
    const pending: Promise<unknown>[] = []
    const isShared = subscribers.length > 1
    for (const entry of subscribers) {
      const failed = (error: unknown) =>
        failures.report(entry, 'subscriber', error, 'the event is lost for this subscriber')
      try {
        const returned: unknown = entry.callback(isShared ? event.copy() : event)
        if (isThenable(returned)) pending.push(catchTo(returned, failed))
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
    isCrowded: () => waiting > limit / 2,
    flush() {
      // A delivery that calls it would wait for itself.
      const isWithinDelivery = deliveryContext.getStore() === true
      return isDraining && !isWithinDelivery ? new Promise((resolve) => append(undefined, resolve)) : Promise.resolve()
    },
    counts: () => ({ waiting, delivered, dropped }),
  }
}

/** Limits how long the queue waits for a subscriber. One timer serves all events, because a timer per event is expensive. */
function createSubscriberWatchdog(stuckMs: number, onTimeout: () => void) {
  let current: (() => void) | undefined
  let previous: (() => void) | undefined
  let armed = false
  const check = () => {
    armed = false
    if (current === undefined) return
    if (current === previous) {
      onTimeout()
      current()
    } else {
      previous = current
      arm()
    }
  }
  const arm = () => {
    if (armed) return
    armed = true
    setTimeout(check, stuckMs).unref()
  }
  return {
    /** Resolves with the work or after the time limit. The work must not reject. */
    limit: (work: Promise<unknown>) =>
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
