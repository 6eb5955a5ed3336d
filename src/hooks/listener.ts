/**
 * One hook of any kind, as the registry calls it: a queue of events that are handled one after another, statistics, and a
 * circuit breaker that disables the hook after repeated failures.
 */
import { type BoundedQueue, createBoundedQueue } from '../lib/bounded-queue.ts'
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { type HandlerResult, handlerFailure, type RunHook } from './handler-result.ts'
import { createHookHealth, type HookCounts, type HookHealth, maxConsecutiveFailures } from './health.ts'

export interface ListenerDeps {
  readonly id: string
  readonly run: RunHook
  deadlineMs(): number
  /** False while the hook must not receive events; skipped events count neither as dropped nor as failed. */
  isEligible(): boolean
  /** Whether requests run at once, beside each other, instead of in the queue. */
  readonly runsConcurrently?: boolean
  /**
   * Failures never trip the hook. For checks of calls whose arguments the model chooses: it could otherwise turn the check
   * off, or block the calls of all users. False if omitted.
   */
  readonly neverTrips?: boolean
  /** The result when the hook cannot be called or fails; `undefined` if omitted. It is not used while a user has paused the hook. */
  fallback?(context: unknown): unknown
  /** Called with the total number of crashes when the hook has crashed its host. */
  onCrash?(crashes: number): void
  readonly clock: () => number
  readonly log: Logger
}

/** `failing`: the last calls failed, and the hook is still called. */
export type ListenerState = 'ready' | 'failing' | 'paused' | 'tripped' | 'not-loaded' | 'unavailable'

export interface TestFireResult {
  readonly result: HandlerResult
  readonly ms: number
}

export interface Listener {
  readonly id: string
  /** Enqueues an event and returns. */
  notify(event: string, context: unknown): void
  /** Like `notify`. Resolves with the result of the handler, or with the fallback if there is none. Never rejects. */
  request(event: string, context: unknown): Promise<unknown>
  /** The result when the hook was not called or cannot be called. */
  fallback(context: unknown): unknown
  /** Calls the handler directly, without the queue and without counting the call. Never rejects. */
  testFire(event: string, context: unknown): Promise<TestFireResult>
  state(): { readonly state: ListenerState; readonly reason: string }
  counts(): HookCounts & { readonly waiting: number }
  pause(): void
  /** Accepts events again after a pause or repeated failures. */
  resume(): void
  /** Disables the hook because it cannot be loaded. */
  markUnloadable(text: string): void
  /** Resolves when the queue is empty. */
  whenIdle(): Promise<void>
  /** Clears the queue and accepts no more events. Pending requests resolve with the fallback. */
  stop(): void
}

interface QueuedEvent {
  readonly event: string
  readonly context: unknown
  readonly respond?: (value: unknown) => void
  readonly bytes: number
}

interface ListenerContext {
  readonly deps: ListenerDeps
  readonly health: HookHealth
  readonly queue: BoundedQueue<QueuedEvent>
  queuedBytes: number
  /** Whether the full queue was logged and has not drained since. */
  isFull: boolean
  paused: boolean
  stopped: boolean
  unavailable: { readonly reason: string; readonly until: number } | undefined
}

/** Limits of the queue. Further events are dropped. */
const maxQueuedEvents = 1_000
const maxQueuedBytes = 32 * 1024 * 1024
/** An unavailable hook is called again after this time, because its program may have been installed meanwhile. */
const unavailableRetryMs = 60_000

export function createListener(deps: ListenerDeps): Listener {
  const health = createHookHealth()
  const queue = createBoundedQueue<QueuedEvent>(maxQueuedEvents, (queued) => processEvent(context, queued))
  const context: ListenerContext = {
    deps,
    health,
    queue,
    queuedBytes: 0,
    isFull: false,
    paused: false,
    stopped: false,
    unavailable: undefined,
  }
  return {
    id: deps.id,
    notify: (event, payload) => enqueue(context, { event, context: payload, bytes: approximateSizeBytes(payload) }),
    request: (event, payload) =>
      new Promise((respond) =>
        enqueue(context, { event, context: payload, respond, bytes: approximateSizeBytes(payload) }),
      ),
    fallback: (payload) => fallback(context, payload),
    async testFire(event, payload) {
      const startedAt = performance.now()
      const result = await invoke(context, event, payload, true)
      return { result, ms: performance.now() - startedAt }
    },
    state: () => stateOf(context),
    counts: () => ({ ...health.counts(), waiting: queue.waiting() }),
    pause() {
      context.paused = true
    },
    resume() {
      context.paused = false
      context.unavailable = undefined
      health.reset()
    },
    markUnloadable: health.markUnloadable,
    whenIdle: queue.idle,
    stop() {
      context.stopped = true
      context.queuedBytes = 0
      for (const queued of queue.clear()) queued.respond?.(fallback(context, queued.context))
    },
  }
}

function enqueue(context: ListenerContext, queued: QueuedEvent): void {
  const { deps, health, queue } = context
  if (!deps.isEligible()) {
    queued.respond?.(undefined)
    return
  }
  // Reset only below half of the limits. Otherwise a queue that stays full would be logged for each event.
  if (context.isFull && queue.waiting() < maxQueuedEvents / 2 && context.queuedBytes < maxQueuedBytes / 2)
    context.isFull = false
  if (deps.runsConcurrently === true && queued.respond !== undefined) {
    context.queuedBytes += queued.bytes
    void processEvent(context, queued)
    return
  }
  if (canAccept(context) && fitsInQueue(context, queued) && queue.push(queued)) {
    context.queuedBytes += queued.bytes
    return
  }
  if (!context.paused && !context.stopped) health.recordDropped()
  if (canAccept(context) && !context.isFull) {
    context.isFull = true
    deps.log.warn(
      { event: 'hook.queue_full', hookEvent: queued.event, waiting: queue.waiting() },
      'a hook is too slow: its queue is full and further events are dropped',
    )
  }
  queued.respond?.(fallback(context, queued.context))
}

/** A single large event is accepted by an empty queue. */
function fitsInQueue({ queue, queuedBytes }: ListenerContext, { bytes }: QueuedEvent): boolean {
  return queue.waiting() === 0 || queuedBytes + bytes <= maxQueuedBytes
}

async function processEvent(context: ListenerContext, queued: QueuedEvent): Promise<void> {
  const { event, context: payload, respond, bytes } = queued
  context.queuedBytes -= bytes
  // The hook may have been paused or disabled while the event was queued.
  if (!canAccept(context)) {
    context.health.recordDropped()
    respond?.(fallback(context, payload))
    return
  }
  const startedAt = performance.now()
  const result = await invoke(context, event, payload, respond !== undefined)
  recordResult(context, event, result, performance.now() - startedAt)
  respond?.(result.ok ? result.value : (result.decision ?? fallback(context, payload)))
}

/** Catches errors, because an event that cannot be serialised must not stop the queue. */
async function invoke(
  { deps }: ListenerContext,
  event: string,
  payload: unknown,
  wantsResult: boolean,
): Promise<HandlerResult> {
  try {
    return await deps.run({ event, context: payload, wantsResult, deadlineMs: deps.deadlineMs() })
  } catch (error) {
    return handlerFailure(`The hook could not be called: ${messageOf(error)}`, { countsAgainstHook: false })
  }
}

function recordResult(context: ListenerContext, event: string, result: HandlerResult, ms: number): void {
  const { deps, health } = context
  const crashesBefore = health.crashes()
  health.record(event, result, ms, deps.clock())
  if (result.ok) {
    context.unavailable = undefined
    return
  }
  const { message, stack, kind } = result
  if (kind === 'unavailable') context.unavailable = { reason: message, until: deps.clock() + unavailableRetryMs }
  // A check may fail for each call of a conversation.
  const isRepeated = deps.neverTrips === true && health.failureStreak() > 1
  if (!isRepeated)
    deps.log.warn(
      { event: 'hook.handler_failed', hookEvent: event, reason: message, ...(stack === '' ? {} : { stack }) },
      'a hook handler failed',
    )
  if (kind === 'unloadable') deps.log.error({ event: 'hook.load_failed', reason: message }, 'a hook cannot be loaded')
  const trippedReason = trippedReasonOf(context)
  if (trippedReason !== undefined)
    deps.log.error(
      { event: 'hook.tripped', reason: trippedReason, fix: `hermes hooks resume ${deps.id}` },
      'a hook is disabled after repeated failures until its files change or it is resumed',
    )
  if (health.crashes() > crashesBefore) deps.onCrash?.(health.crashes())
}

function fallback({ paused, deps }: ListenerContext, payload: unknown): unknown {
  return paused ? undefined : deps.fallback?.(payload)
}

function trippedReasonOf({ deps, health }: ListenerContext): string | undefined {
  return deps.neverTrips === true ? undefined : health.trippedReason()
}

function canAccept(context: ListenerContext): boolean {
  const { paused, stopped, health, unavailable, deps } = context
  if (paused || stopped || trippedReasonOf(context) !== undefined || health.loadFailure() !== undefined) return false
  if (unavailable === undefined) return true
  const remainingMs = unavailable.until - deps.clock()
  // A longer time than the retry interval means that the clock was set back.
  return remainingMs <= 0 || remainingMs > unavailableRetryMs
}

function stateOf(context: ListenerContext): ReturnType<Listener['state']> {
  const { paused, health, unavailable, deps } = context
  if (paused) return { state: 'paused', reason: 'paused by a user' }
  const loadFailure = health.loadFailure()
  if (loadFailure !== undefined) return { state: 'not-loaded', reason: loadFailure }
  const trippedReason = trippedReasonOf(context)
  if (trippedReason !== undefined) return { state: 'tripped', reason: trippedReason }
  if (unavailable !== undefined) return { state: 'unavailable', reason: unavailable.reason }
  const failed = health.failureStreak()
  if (deps.neverTrips === true && failed >= maxConsecutiveFailures)
    return { state: 'failing', reason: `the last ${failed} calls failed: ${health.counts().lastError?.text ?? ''}` }
  return { state: 'ready', reason: '' }
}

/** Limit of values that are visited in one event, which may be deep, wide or cyclic. */
const maxVisitedValues = 2_000
/** Estimated memory of a value without its text. */
const bytesPerValue = 16

/** Estimates the memory of a queued event: a thousand events with long texts can hold a hundred megabytes. Never throws. */
export function approximateSizeBytes(payload: unknown): number {
  const pending = [payload]
  let bytes = 0
  for (let visited = 0; visited < maxVisitedValues && pending.length > 0; visited++) {
    const value = pending.pop()
    bytes += bytesPerValue
    if (typeof value === 'string') bytes += value.length
    else if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) pending.push(part)
  }
  return bytes
}
