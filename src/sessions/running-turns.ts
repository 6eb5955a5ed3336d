/**
 * The running turns of this process, so that commands and changes can stop them, and those that wait for something outside of it, such
 * as a person or the model's provider.
 */
import type { Engine } from '../engine/engine.ts'
import { continueAttempt, pauseAttempt } from '../inbox/attempts.ts'
import { linkAbortSignal, withTimeout } from '../lib/timers.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Store } from '../store/store.ts'
import { findTurnActivity } from './turns.ts'

/** The abort reason when a user stops a turn. Any other reason means that the daemon stops. */
export class StopRequested extends Error {
  constructor() {
    super('the turn was stopped')
    this.name = 'StopRequested'
  }
}

/** The abort reason when a newer message of the conversation ends the turn. */
export class TurnInterrupted extends Error {
  /** The number of the newer message. */
  readonly by: number
  constructor(by: number) {
    super('a newer message interrupted the turn')
    this.name = 'TurnInterrupted'
    this.by = by
  }
}

/** The abort reason when the agent is paused: the turn goes on when the pause ends. */
export class TurnPaused extends Error {
  constructor() {
    super('the agent is paused')
    this.name = 'TurnPaused'
  }
}

/** The agent works on nothing until the pause ends. */
export interface Pause {
  /** ms */
  readonly since: number
  /** The reason that the person gave who paused it; '' for none. */
  readonly reason: string
}

export interface SteeredMessages<T> {
  readonly messages: readonly T[]
  /** Others wait that did not fit. */
  readonly hasMore: boolean
}

export interface RunningTurn {
  readonly signal: AbortSignal
  /** Called between the steps of the turn. Throws the reason of the signal; a pause aborts the turn here. */
  checkpoint(): void
  /**
   * Takes the messages that were steered into the turn. `take` is called when some have arrived since the last call, and again
   * when it has rejected or when more wait.
   */
  takeSteered<T>(take: () => Promise<SteeredMessages<T>>): Promise<readonly T[]>
  /** Whether the turn does what a newer message must not interrupt, such as a compression. */
  protect<T>(work: () => Promise<T>): Promise<T>
  /** Must be called when the turn ends. */
  finish(): void
}

export interface RunningTurns {
  /** Registers a turn. Its signal aborts on a stop request or with `outer`. */
  start(key: SessionKey, seq: number, outer: AbortSignal): RunningTurn
  /**
   * Stops the turn of a session. Resolves when it has ended, or after five seconds, with whether a turn was running.
   * `claimed`: the event of the open turn. If that turn is not registered yet, it is stopped when it is.
   */
  stop(key: SessionKey, claimed?: number): Promise<boolean>
  /** Aborts the turn of a session as a shutdown does: the next start resumes it. */
  abort(key: SessionKey): void
  /** Stops the turn that handles this event; false when it is not running. With `key`, it is stopped when it is registered. */
  stopEvent(seq: number, key?: SessionKey): boolean
  /**
   * Aborts the turn that handles the event `seq`, because of the newer message `by`. False when it is not running; it is then
   * aborted when it is registered: the claim of a turn may be stored together with the message that ends it.
   */
  interrupt(key: SessionKey, seq: number, by: number): boolean
  /** A message waits to be steered into the turn that handles the event `seq`, also if it is not registered yet. */
  steer(key: SessionKey, seq: number): void
  /** Whether the turn of this session must not be interrupted now. */
  isProtected(key: SessionKey): boolean
  isRunning(key: SessionKey): boolean
  /** Resolves when the turn that handles this event ends; undefined when it is not running. */
  ended(seq: number): Promise<void> | undefined
  /** Prevents further turns of this session until the returned function is called. */
  hold(key: SessionKey): () => void
  isHeld(key: SessionKey): boolean
  /** The pause of the agent; null while it works. */
  paused(): Pause | null
  setPaused(pause: Pause | null): void
}

interface RunningEntry {
  readonly seq: number
  hasSteered: boolean
  isProtected: boolean
  abort(reason: Error): void
  readonly done: Promise<void>
}

/** What is due for a turn that was claimed and is not registered yet. */
interface Pending {
  readonly seq: number
  readonly reason?: Error
  readonly hasSteered?: true
}

export function createRunningTurns(): RunningTurns {
  const running = new Map<SessionKey, RunningEntry>()
  /** The next turn of the session removes its entry, so that none is left of a turn that has ended meanwhile. */
  const pending = new Map<SessionKey, Pending>()
  const held = new Set<SessionKey>()
  let pause: Pause | null = null

  function remember(key: SessionKey, due: Pending): void {
    const known = pending.get(key)
    // The first reason counts, as it does for a signal.
    pending.set(key, known?.seq === due.seq ? { ...due, ...known } : due)
  }

  function takePending(key: SessionKey, seq: number): Partial<Pending> {
    const due = pending.get(key)
    if (due === undefined) return {}
    pending.delete(key)
    return due.seq === seq ? due : {}
  }

  return {
    start(key, seq, outer) {
      const linked = linkAbortSignal(outer)
      const { promise, resolve } = Promise.withResolvers<void>()
      const { reason, hasSteered = false } = takePending(key, seq)
      const entry: RunningEntry = { seq, hasSteered, isProtected: false, abort: linked.abort, done: promise }
      running.set(key, entry)
      if (reason !== undefined) linked.abort(reason)
      return {
        signal: linked.signal,
        checkpoint() {
          if (pause !== null) linked.abort(new TurnPaused())
          linked.signal.throwIfAborted()
        },
        async takeSteered(take) {
          if (!entry.hasSteered) return []
          entry.hasSteered = false
          let isDue = true
          try {
            const { messages, hasMore } = await take()
            isDue = hasMore
            return messages
          } finally {
            if (isDue) entry.hasSteered = true
          }
        },
        async protect(work) {
          entry.isProtected = true
          try {
            return await work()
          } finally {
            entry.isProtected = false
          }
        },
        finish() {
          linked.release()
          if (running.get(key) === entry) running.delete(key)
          resolve()
        },
      }
    },
    async stop(key, claimed) {
      const entry = running.get(key)
      if (entry === undefined) {
        if (claimed !== undefined) remember(key, { seq: claimed, reason: new StopRequested() })
        return false
      }
      entry.abort(new StopRequested())
      await withTimeout(entry.done, 5_000)
      return true
    },
    abort(key) {
      running.get(key)?.abort(new Error('the gateway is stopping'))
    },
    stopEvent(seq, key) {
      for (const entry of running.values()) {
        if (entry.seq !== seq) continue
        entry.abort(new StopRequested())
        return true
      }
      if (key !== undefined) remember(key, { seq, reason: new StopRequested() })
      return false
    },
    interrupt(key, seq, by) {
      const entry = running.get(key)
      if (entry?.seq === seq) entry.abort(new TurnInterrupted(by))
      else remember(key, { seq, reason: new TurnInterrupted(by) })
      return entry?.seq === seq
    },
    steer(key, seq) {
      const entry = running.get(key)
      if (entry?.seq === seq) entry.hasSteered = true
      else remember(key, { seq, hasSteered: true })
    },
    isProtected: (key) => running.get(key)?.isProtected === true,
    isRunning: (key) => running.has(key),
    ended: (seq) => [...running.values()].find((entry) => entry.seq === seq)?.done,
    hold(key) {
      held.add(key)
      return () => {
        held.delete(key)
      }
    },
    isHeld: (key) => held.has(key),
    paused: () => pause,
    setPaused(next) {
      pause = next
    },
  }
}

/**
 * Meanwhile another turn may run, and a crash does not count as a failed attempt of the turn. Resolves or rejects as `wait`,
 * or rejects `store/...`.
 */
export type TurnWait = <T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal) => Promise<T>

/** The waits of a session at the same time. */
interface SessionWaits {
  count: number
  /** The event whose attempt one of them has paused. The last one continues it. */
  paused: number | undefined
}

interface TurnWaits {
  readonly waitInTurn: TurnWait
  /** Whether a wait of this session has paused the attempt of its turn. */
  isPaused(key: SessionKey): boolean
}

export function createTurnWaits(store: Store, engine: Pick<Engine, 'waitOutside'>): TurnWaits {
  const waits = new Map<SessionKey, SessionWaits>()

  /** Pauses the attempt, unless the turn also works. */
  async function pause(key: SessionKey): Promise<void> {
    const waiting = waits.get(key) ?? { count: 0, paused: undefined }
    waits.set(key, waiting)
    waiting.count += 1
    await store.run(function* () {
      const activity = yield* findTurnActivity(key)
      if (activity === undefined || activity.runsTool) return
      yield* pauseAttempt(activity.seq)
      waiting.paused = activity.seq
    })
  }

  async function resume(key: SessionKey): Promise<void> {
    const waiting = waits.get(key)
    if (waiting === undefined) return
    waiting.count -= 1
    if (waiting.count > 0) return
    waits.delete(key)
    const { paused } = waiting
    if (paused !== undefined) await store.run(() => continueAttempt(paused))
  }

  return {
    waitInTurn(key, wait, signal) {
      const waitWithoutAttempt = async () => {
        try {
          await pause(key)
          return await wait()
        } finally {
          await resume(key)
        }
      }
      return engine.waitOutside(key, waitWithoutAttempt, signal)
    },
    isPaused: (key) => waits.get(key)?.paused !== undefined,
  }
}
