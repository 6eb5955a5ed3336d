/**
 * Works on stored events later: those that a script looks at, those without a turn, and those that are combined. An event of a
 * group waits until the group is quiet, and the newest stands for all. After a crash the work goes on, and what failed is tried
 * again for a day.
 */
import { messageOf } from '#sdk'
import type { Webhooks } from './webhooks.ts'

/** What is done with a group of events. */
export interface GroupWork {
  /** How long the group waits; undefined when there is nothing to wait for. */
  waitOf(group: string): Promise<{ readonly windowMs: number; readonly maxMs: number } | undefined>
  /** Works on the newest event of a group. Resolves with whether it is to be tried again. */
  work(body: string, keys: readonly [string, ...string[]], signal: AbortSignal): Promise<{ readonly retry: string }>
}

/** Calls after a time, unless the returned function is called before. */
export type SetTimer = (call: () => void, ms: number) => () => void

export interface Deferred {
  /** Notes an event that is on disk. Never rejects. */
  added(key: string, group: string): Promise<void>
  /** Goes on with those of the last process. Rejects `store/...`. */
  recover(): Promise<void>
  /** How many events wait. */
  size(): number
  /** Resolves when no work runs. */
  stop(): Promise<void>
}

interface Group {
  /** The oldest first. */
  readonly keys: string[]
  readonly firstAt: number
  lastAt: number
  attempts: number
  isRunning: boolean
  cancel: (() => void) | undefined
}

const maxAtOnce = 4
const firstRetryMs = 5_000
const maxRetryMs = 600_000
const giveUpMs = 86_400_000

export function createDeferred({ context, automation }: Webhooks, groupWork: GroupWork, setTimer: SetTimer): Deferred {
  const { clock, log } = context
  const { deliveries } = automation
  const groups = new Map<string, Group>()
  const ready: string[] = []
  const running = new Set<Promise<void>>()
  const stopping = new AbortController()

  /** The group, or undefined when it has the event already. */
  function note(key: string, name: string, at: number): Group | undefined {
    const group = groups.get(name) ?? newGroup(at)
    if (group.keys.includes(key)) return undefined
    group.keys.push(key)
    group.lastAt = at
    groups.set(name, group)
    return group
  }

  async function schedule(name: string, group: Group): Promise<void> {
    const wait = await groupWork.waitOf(name)
    // Meanwhile the work may have begun, or the group may have ended.
    if (group.isRunning || groups.get(name) !== group || stopping.signal.aborted) return
    const dueAt = wait === undefined ? clock() : Math.min(group.lastAt + wait.windowMs, group.firstAt + wait.maxMs)
    runAfter(name, group, Math.max(0, dueAt - clock()))
  }

  function runAfter(name: string, group: Group, ms: number): void {
    group.cancel?.()
    group.cancel = undefined
    if (ms > 0) {
      group.cancel = setTimer(() => begin(name), ms)
      return
    }
    begin(name)
  }

  function begin(name: string): void {
    if (!ready.includes(name)) ready.push(name)
    drain()
  }

  function drain(): void {
    while (running.size < maxAtOnce && !stopping.signal.aborted) {
      const name = ready.shift()
      const group = name === undefined ? undefined : groups.get(name)
      if (name === undefined) return
      if (group === undefined || group.isRunning) continue
      group.isRunning = true
      const operation = run(name, group).finally(() => {
        running.delete(operation)
        drain()
      })
      running.add(operation)
    }
  }

  /** Never rejects. */
  async function run(name: string, group: Group): Promise<void> {
    const keys = [...group.keys]
    let retry: string
    try {
      retry = await workOn(keys)
      if (retry === '') await deliveries.done(keys)
    } catch (error) {
      retry = messageOf(error)
    }
    group.isRunning = false
    if (stopping.signal.aborted) return
    if (retry === '') return await finish(name, group, keys)
    const isOver = clock() - group.firstAt > giveUpMs
    log[isOver ? 'error' : 'warn'](
      { event: isOver ? 'webhook.given_up' : 'webhook.failed', key: keys.at(-1) ?? '', reason: retry },
      isOver ? 'an event could not be worked on for a day, and is dropped' : 'an event is tried again later',
    )
    if (isOver) {
      await deliveries.done(keys).catch(() => undefined)
      return await finish(name, group, keys)
    }
    group.attempts += 1
    runAfter(name, group, Math.min(firstRetryMs * 2 ** (group.attempts - 1), maxRetryMs))
  }

  async function workOn(keys: readonly string[]): Promise<string> {
    const newest = keys.at(-1)
    const body = newest === undefined ? undefined : await deliveries.read(newest)
    if (newest === undefined || body === undefined) return ''
    const { retry } = await groupWork.work(body, [newest, ...keys.slice(0, -1)], stopping.signal)
    return retry
  }

  /** Events that came meanwhile are a group of their own. */
  async function finish(name: string, group: Group, keys: readonly string[]): Promise<void> {
    const later = group.keys.slice(keys.length)
    groups.delete(name)
    if (later.length === 0) return
    const next = { ...newGroup(group.lastAt), keys: later }
    groups.set(name, next)
    await schedule(name, next)
  }

  return {
    async added(key, group) {
      try {
        const noted = note(key, group, clock())
        if (noted !== undefined) await schedule(group, noted)
      } catch (error) {
        log.error({ event: 'webhook.not_scheduled', key, err: error }, 'an event is worked on after the next start')
      }
    },
    async recover() {
      // All are noted before one begins: the time of a group may have ended while no gateway ran.
      for (const { key, group, receivedAt } of await deliveries.open()) note(key, group, receivedAt)
      for (const [name, group] of [...groups]) await schedule(name, group)
    },
    size: () => groups.size,
    async stop() {
      stopping.abort(new Error('the platform is stopped'))
      for (const group of groups.values()) group.cancel?.()
      await Promise.all(running)
    },
  }
}

function newGroup(at: number): Group {
  return { keys: [], firstAt: at, lastAt: at, attempts: 0, isRunning: false, cancel: undefined }
}
