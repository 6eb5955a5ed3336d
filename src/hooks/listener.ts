/**
 * One hook as the registry sees it, of whatever kind: it hears events one after the other, in the order they came, is
 * counted, and is set aside when it fails too often.
 */

import { createBoundedQueue } from '../lib/bounded-queue.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { approximateSizeBytes } from './approximate-size.ts'
import { type HandlerResult, handlerFailure, type RunHook } from './handler-result.ts'
import { createHookHealth, type HookCounts } from './health.ts'

export interface ListenerDeps {
  readonly id: string
  readonly run: RunHook
  deadlineMs(): number
  /** False: it hears nothing for now, and that is nobody's fault. */
  isEligible(): boolean
  /** What it answers where it cannot be asked, or fails; undefined if left out. Not while a person has paused it. */
  fallback?(context: unknown): unknown
  /** Its process has ended because of it, this often. */
  onCrash?(kills: number): void
  readonly clock: () => number
  readonly log: Logger
}

export type ListenerState = 'ready' | 'paused' | 'tripped' | 'unavailable'

export interface Listener {
  readonly id: string
  /** Hands an event over and returns at once. */
  notify(event: string, context: unknown): void
  /** As `hear`; resolves with what it returned, `inDoubt` when it failed or did not hear it. Never rejects. */
  request(event: string, context: unknown): Promise<unknown>
  /** What it answers where it was not, or cannot be asked; undefined for most. */
  fallback(context: unknown): unknown
  /** Calls it now, past the line and without counting. Never rejects. */
  testFire(event: string, context: unknown): Promise<{ readonly outcome: HandlerResult; readonly ms: number }>
  state(): { readonly state: ListenerState; readonly reason: string }
  counts(): HookCounts & { readonly waiting: number }
  pause(): void
  /** Hears events again, whatever kept it from doing so. */
  resume(): void
  /** It cannot be loaded, as was found out without an event. */
  markUnloadable(text: string): void
  /** Resolves when it has heard everything. */
  whenIdle(): Promise<void>
  /** Hears nothing more; who waits for an answer gets none. */
  stop(): void
}

/** Events that wait for one hook, and what they hold in memory; more are dropped. */
const maxQueuedEvents = 1_000
const maxQueuedBytes = 32 * 1024 * 1024
/** What runs it may come back: a program that was installed meanwhile. */
const unavailableRetryMs = 60_000

interface QueuedEvent {
  readonly event: string
  readonly context: unknown
  readonly respond?: (value: unknown) => void
  readonly bytes: number
}

export function createListener({
  id,
  run,
  deadlineMs,
  isEligible,
  onCrash,
  clock,
  log,
  ...deps
}: ListenerDeps): Listener {
  const health = createHookHealth()
  const queue = createBoundedQueue<QueuedEvent>(maxQueuedEvents, processEvent)
  let paused = false
  let stopped = false
  let unavailable: { readonly reason: string; readonly until: number } | undefined
  let queuedBytes = 0
  let isFull = false

  async function processEvent({ event, context, respond, bytes }: QueuedEvent): Promise<void> {
    queuedBytes -= bytes
    // It may have been set aside while this one waited.
    if (!canAccept()) {
      health.recordDropped()
      respond?.(fallback(context))
      return
    }
    const began = performance.now()
    const outcome = await invoke(event, context, respond !== undefined)
    recordResult(event, outcome, performance.now() - began)
    respond?.(outcome.ok ? outcome.value : fallback(context))
  }

  /** An event that cannot even be written down must not stop the line. */
  async function invoke(event: string, context: unknown, wantsResult: boolean): Promise<HandlerResult> {
    try {
      return await run({ event, context, wantsResult, deadlineMs: deadlineMs() })
    } catch (error) {
      return handlerFailure(`The hook could not be called: ${messageOf(error)}`, { countsAgainstHook: false })
    }
  }

  function recordResult(event: string, outcome: HandlerResult, ms: number): void {
    const crashesBefore = health.crashes()
    health.record(event, outcome, ms, clock())
    if (outcome.ok) {
      unavailable = undefined
      return
    }
    if (outcome.kind === 'unavailable') unavailable = { reason: outcome.message, until: clock() + unavailableRetryMs }
    const { message, stack } = outcome
    log.warn(
      { event: 'hook.handler_failed', hookEvent: event, reason: message, ...(stack === '' ? {} : { stack }) },
      'a hook handler failed',
    )
    const trippedReason = health.trippedReason()
    if (trippedReason !== undefined)
      log.error(
        { event: 'hook.tripped', reason: trippedReason, fix: `hermes hooks resume ${id}` },
        'a hook is disabled after repeated failures until its files change or it is resumed',
      )
    if (health.crashes() > crashesBefore) onCrash?.(health.crashes())
  }

  function fallback(context: unknown): unknown {
    return paused ? undefined : deps.fallback?.(context)
  }

  function canAccept(): boolean {
    if (paused || stopped || health.trippedReason() !== undefined) return false
    if (unavailable === undefined) return true
    const left = unavailable.until - clock()
    // More than was ever to be waited: the clock was set back.
    return left <= 0 || left > unavailableRetryMs
  }

  function fitsInQueue({ bytes }: QueuedEvent): boolean {
    return queue.waiting() === 0 || queuedBytes + bytes <= maxQueuedBytes
  }

  function enqueue(waiting: QueuedEvent): void {
    if (!isEligible()) {
      waiting.respond?.(undefined)
      return
    }
    // Not at every place that becomes free: that would be a line in the log for each event.
    if (isFull && queue.waiting() < maxQueuedEvents / 2 && queuedBytes < maxQueuedBytes / 2) isFull = false
    if (canAccept() && fitsInQueue(waiting) && queue.push(waiting)) {
      queuedBytes += waiting.bytes
      return
    }
    if (!paused && !stopped) health.recordDropped()
    if (canAccept() && !isFull) {
      isFull = true
      log.warn(
        { event: 'hook.queue_full', hookEvent: waiting.event, waiting: queue.waiting() },
        'a hook is too slow: its queue is full and further events are dropped',
      )
    }
    waiting.respond?.(fallback(waiting.context))
  }

  return {
    id,
    notify: (event, context) => enqueue({ event, context, bytes: approximateSizeBytes(context) }),
    request: (event, context) =>
      new Promise((respond) => enqueue({ event, context, respond, bytes: approximateSizeBytes(context) })),
    fallback,
    async testFire(event, context) {
      const began = performance.now()
      const outcome = await invoke(event, context, true)
      return { outcome, ms: performance.now() - began }
    },
    state() {
      if (paused) return { state: 'paused', reason: 'paused by hand' }
      const trippedReason = health.trippedReason()
      if (trippedReason !== undefined) return { state: 'tripped', reason: trippedReason }
      return unavailable === undefined
        ? { state: 'ready', reason: '' }
        : { state: 'unavailable', reason: unavailable.reason }
    },
    counts: () => ({ ...health.counts(), waiting: queue.waiting() }),
    pause() {
      paused = true
    },
    resume() {
      paused = false
      unavailable = undefined
      health.reset()
    },
    markUnloadable(text) {
      health.markUnloadable(text, clock())
    },
    whenIdle: queue.idle,
    stop() {
      stopped = true
      queuedBytes = 0
      for (const { respond, context } of queue.clear()) respond?.(fallback(context))
    },
  }
}
