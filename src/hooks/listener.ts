/**
 * One hook as the registry sees it, of whatever kind: it hears events one after the other, in the order they came, is
 * counted, and is set aside when it fails too often.
 */
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { createQueue } from '../lib/queue.ts'
import { createHealth, type HookCounts } from './health.ts'
import { failed, type Outcome, type RunHook } from './outcome.ts'
import { weightOf } from './weight.ts'

export interface ListenerDeps {
  readonly id: string
  readonly run: RunHook
  deadlineMs(): number
  /** False: it hears nothing for now, and that is nobody's fault. */
  wantsToHear(): boolean
  /** What it answers where it cannot be asked, or fails; undefined if left out. Not while a person has paused it. */
  inDoubt?(context: unknown): unknown
  /** Its process has ended because of it, this often. */
  onKill?(kills: number): void
  readonly clock: () => number
  readonly log: Logger
}

export type ListenerState = 'ready' | 'paused' | 'set-aside' | 'unavailable'

export interface Listener {
  readonly id: string
  /** Hands an event over and returns at once. */
  hear(event: string, context: unknown): void
  /** As `hear`; resolves with what it returned, `inDoubt` when it failed or did not hear it. Never rejects. */
  ask(event: string, context: unknown): Promise<unknown>
  /** What it answers where it was not, or cannot be asked; undefined for most. */
  inDoubt(context: unknown): unknown
  /** Calls it now, past the line and without counting. Never rejects. */
  tryOut(event: string, context: unknown): Promise<{ readonly outcome: Outcome; readonly ms: number }>
  state(): { readonly state: ListenerState; readonly reason: string }
  counts(): HookCounts & { readonly waiting: number }
  pause(): void
  /** Hears events again, whatever kept it from doing so. */
  resume(): void
  /** It cannot be loaded, as was found out without an event. */
  unloadable(text: string): void
  /** Resolves when it has heard everything. */
  idle(): Promise<void>
  /** Hears nothing more; who waits for an answer gets none. */
  end(): void
}

/** Events that wait for one hook, and what they hold in memory; more are dropped. */
const maxWaiting = 1_000
const maxWaitingBytes = 32 * 1024 * 1024
/** What runs it may come back: a program that was installed meanwhile. */
const lookAgainMs = 60_000

interface Waiting {
  readonly event: string
  readonly context: unknown
  readonly answer?: (value: unknown) => void
  readonly bytes: number
}

export function createListener({
  id,
  run,
  deadlineMs,
  wantsToHear,
  onKill,
  clock,
  log,
  ...deps
}: ListenerDeps): Listener {
  const health = createHealth()
  const queue = createQueue<Waiting>(maxWaiting, work)
  let paused = false
  let ended = false
  let unavailable: { readonly reason: string; readonly until: number } | undefined
  let waitingBytes = 0
  let isFull = false

  async function work({ event, context, answer, bytes }: Waiting): Promise<void> {
    waitingBytes -= bytes
    // It may have been set aside while this one waited.
    if (!isOpen()) {
      health.dropped()
      answer?.(inDoubt(context))
      return
    }
    const began = performance.now()
    const outcome = await attempt(event, context, answer !== undefined)
    note(event, outcome, performance.now() - began)
    answer?.(outcome.ok ? outcome.value : inDoubt(context))
  }

  /** An event that cannot even be written down must not stop the line. */
  async function attempt(event: string, context: unknown, wanted: boolean): Promise<Outcome> {
    try {
      return await run({ event, context, wanted, deadlineMs: deadlineMs() })
    } catch (error) {
      return failed(`The hook could not be called: ${messageOf(error)}`, { blamed: false })
    }
  }

  function note(event: string, outcome: Outcome, ms: number): void {
    const killsBefore = health.kills()
    health.note(event, outcome, ms, clock())
    if (outcome.ok) {
      unavailable = undefined
      return
    }
    if (outcome.kind === 'unavailable') unavailable = { reason: outcome.text, until: clock() + lookAgainMs }
    const { text, stack } = outcome
    log.warn({ event, ...(stack === '' ? {} : { stack }) }, `hook ${id} failed at ${event}: ${text}`)
    const setAside = health.setAside()
    if (setAside !== undefined)
      log.error({}, `hook ${id} is set aside: ${setAside}; mend its files, or \`hermes hooks resume\``)
    if (health.kills() > killsBefore) onKill?.(health.kills())
  }

  function inDoubt(context: unknown): unknown {
    return paused ? undefined : deps.inDoubt?.(context)
  }

  function isOpen(): boolean {
    if (paused || ended || health.setAside() !== undefined) return false
    if (unavailable === undefined) return true
    const left = unavailable.until - clock()
    // More than was ever to be waited: the clock was set back.
    return left <= 0 || left > lookAgainMs
  }

  function fits({ bytes }: Waiting): boolean {
    return queue.waiting() === 0 || waitingBytes + bytes <= maxWaitingBytes
  }

  function take(waiting: Waiting): void {
    if (!wantsToHear()) {
      waiting.answer?.(undefined)
      return
    }
    // Not at every place that becomes free: that would be a line in the log for each event.
    if (isFull && queue.waiting() < maxWaiting / 2 && waitingBytes < maxWaitingBytes / 2) isFull = false
    if (isOpen() && fits(waiting) && queue.push(waiting)) {
      waitingBytes += waiting.bytes
      return
    }
    if (!paused && !ended) health.dropped()
    if (isOpen() && !isFull) {
      isFull = true
      log.warn(
        { event: waiting.event },
        `hook ${id} is too slow: ${queue.waiting()} events wait, further ones are dropped`,
      )
    }
    waiting.answer?.(inDoubt(waiting.context))
  }

  return {
    id,
    hear: (event, context) => take({ event, context, bytes: weightOf(context) }),
    ask: (event, context) => new Promise((answer) => take({ event, context, answer, bytes: weightOf(context) })),
    inDoubt,
    async tryOut(event, context) {
      const began = performance.now()
      const outcome = await attempt(event, context, true)
      return { outcome, ms: performance.now() - began }
    },
    state() {
      if (paused) return { state: 'paused', reason: 'paused by hand' }
      const setAside = health.setAside()
      if (setAside !== undefined) return { state: 'set-aside', reason: setAside }
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
      health.forgive()
    },
    unloadable(text) {
      health.unloadable(text, clock())
    },
    idle: queue.idle,
    end() {
      ended = true
      waitingBytes = 0
      for (const { answer, context } of queue.clear()) answer?.(inDoubt(context))
    },
  }
}
