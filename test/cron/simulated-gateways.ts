/**
 * Gateways that carry jobs out on one database, and are killed. Only the clock, the agent and the chats are simulated: a killed gateway does
 * nothing any more, and what it has not stored is lost.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createRuns, type JobRun, type RunSteps } from '../../src/cron/runs.ts'
import { createScheduler } from '../../src/cron/scheduler.ts'
import { createPlaces } from '../../src/engine/embedded-engine.ts'
import { acceptEvent } from '../../src/inbox/queries.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { Transaction } from '../../src/store/query.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'

export interface Firing {
  readonly job: string
  /** ms since 1970: the time for which it fired, and the one at which it was begun. */
  readonly slot: number
  readonly at: number
}

/** What stays when a gateway is killed, besides the database. */
export interface World {
  now: number
  readonly path: string
  readonly timeZone: string
  /** By the key of the event. */
  readonly fired: Map<string, Firing>
  /** How often a script was started, by the same key. */
  readonly scripts: Map<string, number>
  /** The messages in chats, by their keys. */
  readonly delivered: Map<string, string>
  /** Durations of the turns of the agent, ms. They are used in turn. */
  turns: readonly number[]
  turnCount: number
}

export function createWorld(path: string, settings: Pick<World, 'now' | 'timeZone' | 'turns'>): World {
  return { ...settings, path, fired: new Map(), scripts: new Map(), delivered: new Map(), turnCount: 0 }
}

interface Timer {
  readonly at: number
  /** Whether a turn has sent it, and not the scheduler. */
  readonly isTurn: boolean
  readonly call: () => void
}

/** A gateway. It may be killed at any step. */
export class SimulatedGateway {
  isAlive = true
  readonly timers = new Set<Timer>()
  readonly #world: World
  readonly #store: Store
  #stepsLeft: number
  #open = 0

  /** @param steps after so many of them it is killed */
  constructor(world: World, steps: number) {
    this.#world = world
    this.#stepsLeft = steps
    this.#store = createSqliteStore({ path: world.path })
  }

  async start(): Promise<void> {
    const common = { store: this.#guardedStore(), clock: () => this.#world.now, log: silentLog }
    const failpoint = () => void this.#step()
    const { signal: stopping } = new AbortController()
    const runtime = { ...common, failpoint, stopping, changed: () => this.#ifAlive(scheduler.changed) }
    const steps: RunSteps = {
      runScript: (run) => this.#guard(async () => this.#runScript(run)),
      startTurn: (run) => this.#guard(() => this.#startTurn(run)),
      waitForTurn: async () => {
        await this.#wait(this.#world.turns[this.#world.turnCount++ % this.#world.turns.length] ?? 0)
        return { status: 'done', text: 'said', sessionId: '', model: '', usage: { inputTokens: 0, outputTokens: 0 } }
      },
      composePrompt: async ({ job }) => job.prompt,
      refusal: () => '',
      writeOutput: () => this.#guard(async () => ''),
      deliver: (run, text) => this.#guard(async () => this.#deliver(run, text)),
    }
    const places = createPlaces(() => 2)
    const runs = createRuns(runtime, steps, places, (ms) => this.#wait(ms))
    const scheduler = createScheduler(
      {
        ...{ ...common, failpoint },
        settings: () => ({ catchUp: true, timeZone: this.#world.timeZone }),
        setTimer: (call, ms) => this.#setTimer(call, ms, false),
      },
      async () => undefined,
      (claimed) => this.#ifAlive(() => runs.begin(claimed)),
    )
    // It may be killed before it has recovered.
    await Promise.race([runs.recover(), this.#died()])
    this.#ifAlive(() => scheduler.start())
  }

  /** Resolves when it waits for its timers, or is dead. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3 && this.isAlive; ) {
      await nextTurn()
      quiet = this.#open === 0 ? quiet + 1 : 0
    }
  }

  /** It is not killed any more. */
  spare(): void {
    this.#stepsLeft = Number.POSITIVE_INFINITY
  }

  fire(timer: Timer): void {
    this.timers.delete(timer)
    timer.call()
  }

  async close(): Promise<void> {
    this.isAlive = false
    await this.#store.close()
  }

  #ifAlive(work: () => void): void {
    if (this.isAlive) work()
  }

  /** Whether it lives on. */
  #step(): boolean {
    this.#stepsLeft -= 1
    if (this.#stepsLeft === 0) this.isAlive = false
    return this.isAlive
  }

  async #died(): Promise<void> {
    while (this.isAlive) await nextTurn()
  }

  /** What a dead gateway waits for never comes. */
  async #guard<Result>(work: () => Promise<Result>): Promise<Result> {
    if (!this.isAlive || !this.#step()) return await never()
    this.#open += 1
    try {
      const result = await work()
      return this.isAlive && this.#step() ? result : await never()
    } finally {
      this.#open -= 1
    }
  }

  #guardedStore(): Store {
    return {
      ...this.#store,
      run: <Result>(transaction: () => Transaction<Result>) => this.#guard(() => this.#store.run(transaction)),
    }
  }

  #setTimer(call: () => void, ms: number, isTurn: boolean): () => void {
    const timer = { at: this.#world.now + ms, call, isTurn }
    this.timers.add(timer)
    return () => void this.timers.delete(timer)
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#setTimer(resolve, ms, true))
  }

  async #startTurn(run: JobRun): Promise<number> {
    const { stored, slot } = run
    const event = {
      sessionKey: keyOf(run),
      lane: 'turn',
      kind: 'message',
      platform: 'cron',
      account: 'default',
    } as const
    const accepted = await this.#store.run(() =>
      acceptEvent({ ...event, chatId: stored.job.id, payload: '{}' }, [keyOf(run)], this.#world.now),
    )
    const at = Date.parse(stored.job.last_dispatch?.dispatched_at ?? '')
    this.#world.fired.set(keyOf(run), { job: stored.job.id, slot, at })
    return accepted.seq
  }

  #runScript(run: JobRun) {
    const { stored, slot } = run
    const at = Date.parse(stored.job.last_dispatch?.dispatched_at ?? '')
    this.#world.fired.set(keyOf(run), { job: stored.job.id, slot, at })
    this.#world.scripts.set(keyOf(run), (this.#world.scripts.get(keyOf(run)) ?? 0) + 1)
    return { ok: true, output: 'printed' }
  }

  #deliver(run: JobRun, text: string): string {
    // The outbox takes a key once.
    if (!this.#world.delivered.has(keyOf(run))) this.#world.delivered.set(keyOf(run), text)
    return ''
  }
}

function keyOf({ stored: { job }, slot }: JobRun): string {
  return `cron:${job.id}:${slot}`
}

function never<Result>(): Promise<Result> {
  return new Promise(() => undefined)
}
