/**
 * Events on their way to subscribers: one bounded queue, emptied in order and outside of every call. A call never waits
 * for it; when it is full, events are dropped and counted.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from '../lib/log.ts'
import { failureOf, isPending } from './awaiting.ts'
import type { ManagedEvent } from './contract.ts'
import type { Failures } from './failures.ts'
import type { Subscriber } from './level.ts'
import type { Entries } from './registry.ts'

export interface Delivery {
  readonly event: ManagedEvent
  /** Sanitizers; must not reject. Undefined where there are none. */
  readonly prepare: (() => Promise<void>) | undefined
  readonly subscribers: Entries<Subscriber>
}

export interface EventQueue {
  push(delivery: Delivery): void
  /** Resolves when everything pushed so far was delivered. */
  flush(): Promise<void>
  counts(): { readonly waiting: number; readonly delivered: number; readonly dropped: number }
}

export interface EventQueueDeps {
  readonly log: Logger
  readonly failures: Failures
  /** More than this are dropped. */
  readonly limit: number
  /** A subscriber that takes this long (at most twice as long) for one event is not waited for. */
  readonly stuckMs: number
}

interface Item {
  readonly delivery: Delivery | undefined
  /** Of a barrier. */
  readonly reached: (() => void) | undefined
  next: Item | undefined
}

/** As many are delivered at once before other work gets its turn. */
const batch = 512

export function createEventQueue({ log, failures, limit, stuckMs }: EventQueueDeps): EventQueue {
  // Whoever pushes runs in the context of a call; subscribers are no part of it.
  const outside = AsyncLocalStorage.snapshot()
  let head: Item | undefined
  let tail: Item | undefined
  let busy = false
  let breathing: NodeJS.Immediate | undefined
  let waiting = 0
  let delivered = 0
  let dropped = 0
  let droppedBefore = 0
  const watch = createWatch(stuckMs, () =>
    log.warn(
      { waiting, stuckMs },
      'a subscriber of managed calls takes too long for an event; the next ones go on without it',
    ),
  )

  const append = (delivery: Delivery | undefined, reached: (() => void) | undefined) => {
    const item: Item = { delivery, reached, next: undefined }
    if (tail === undefined) head = item
    else tail.next = item
    tail = item
    if (!busy) {
      busy = true
      queueMicrotask(go)
    } else if (breathing !== undefined && waiting > limit / 2) {
      // Whoever pushes so fast lets nothing else run; waiting for a turn would only drop events.
      clearImmediate(breathing)
      breathing = undefined
      queueMicrotask(go)
    }
  }
  const go = () => outside(drain)
  const breathe = () => {
    breathing = setImmediate(() => {
      breathing = undefined
      go()
    })
  }
  const drain = () => {
    for (let left = batch; head !== undefined; left--) {
      if (left === 0) return breathe()
      const item = head
      head = item.next
      if (head === undefined) tail = undefined
      item.reached?.()
      if (item.delivery === undefined) continue
      const pending = deliver(item.delivery)
      if (pending !== undefined) {
        void watch.over(pending).then(afterwards)
        return
      }
      count()
    }
    busy = false
    tellDropped()
  }
  const afterwards = () => {
    count()
    drain()
  }
  const count = () => {
    waiting -= 1
    delivered += 1
  }
  const tellDropped = () => {
    if (dropped === droppedBefore) return
    log.warn(
      { dropped: dropped - droppedBefore, limit },
      'events of managed calls were dropped: subscribers were too slow',
    )
    droppedBefore = dropped
  }

  /** Undefined when every subscriber was done at once. */
  const deliver = ({ event, prepare, subscribers }: Delivery): Promise<unknown> | undefined =>
    prepare === undefined ? hand(event, subscribers) : prepare().then(() => hand(event, subscribers))

  const hand = (event: ManagedEvent, subscribers: Entries<Subscriber>): Promise<unknown> | undefined => {
    const pending: Promise<unknown>[] = []
    for (const entry of subscribers) {
      const failed = (error: unknown) => failures.tell(entry, 'a subscriber', error, 'the event is lost for it')
      try {
        const answer: unknown = entry.callback(event)
        if (isPending(answer)) pending.push(failureOf(answer, failed))
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
function createWatch(stuckMs: number, stuck: () => void) {
  let current: (() => void) | undefined
  let seen: (() => void) | undefined
  let armed = false
  const look = () => {
    armed = false
    if (current === undefined) return
    if (current === seen) {
      stuck()
      current()
    } else {
      seen = current
      arm()
    }
  }
  const arm = () => {
    if (armed) return
    armed = true
    setTimeout(look, stuckMs).unref()
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
