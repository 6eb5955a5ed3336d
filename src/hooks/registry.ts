/**
 * The HookRegistry: delivers gateway events to the hooks that subscribe to them (contract §1). It never delays a turn:
 * `emit` adds the event to the queues of the hooks and returns.
 */
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { HookEventListener, HookEventName, HookEvents } from '../message/hook-events.ts'
import { createConfigHooks } from './config-hooks.ts'
import type { HookRegistryDeps, HookSubscriptions } from './contract.ts'
import { createEventValidator, type Subscription, subscriptionsOf, wildcardOf } from './event-names.ts'
import { createFolderHooks } from './folder-hooks.ts'
import type { HookStatus } from './hook-status.ts'
import type { HostProcessStatus } from './host-pool.ts'
import type { Listener, TestFireResult } from './listener.ts'
import { readPaused, writePaused } from './paused-hooks.ts'

export interface HookRegistry {
  /** Discovers hooks. A host starts with the first event that one of its hooks subscribes to. Never throws. */
  discoverAndLoad(): void
  /** Watches the directories from now on: added, changed and removed hooks take effect without a restart. */
  watch(): void
  /** Returns without waiting. Never throws. The context must not be changed afterwards; each handler receives a copy. */
  readonly emit: HookEventListener
  /**
   * The results that handlers returned within `withinMs`, in the order of the handlers, without null and undefined.
   * Handlers that take longer still run to their end. Never rejects.
   */
  emitCollect<Name extends HookEventName>(name: Name, context: HookEvents[Name], withinMs: number): Promise<unknown[]>
  /** What hooks subscribe to besides the events of the gateway itself: names and families. Kept up to date. */
  readonly subscribed: ReadonlySet<string>
  /** Whether a hook subscribes to this event. */
  hasListeners(name: HookEventName): boolean
  list(): readonly HookStatus[]
  processes(): readonly HostProcessStatus[]
  /** Calls one hook directly. Returns `undefined` if no hook has this name. Never rejects. */
  testFire(name: string, event: string, context: unknown): Promise<TestFireResult | undefined>
  /** Pauses a hook until it is resumed, also across restarts. Returns false if no hook has this name. */
  pause(name: string): boolean
  /** Resumes a hook that is paused or tripped. Returns false if no hook has this name. */
  resume(name: string): boolean
  /** Applies a changed configuration or environment. */
  applyConfig(): void
  /** Waits until every event is handled, at most `withinMs` or until the signal aborts. Returns whether all were. */
  waitUntilIdle(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Accepts no more events, waits at most `drainMs` for calls in flight and ends all processes. May be called twice. */
  stop(drainMs: number): Promise<void>
}

export function createHookRegistry(deps: HookRegistryDeps): HookRegistry {
  const { folder, log } = deps
  const paused = readPausedOrNone(folder, log)
  const subscribed = new Set<string>()
  const shared = createSubscriptions(deps, paused, () => connect(subscriptions()))
  const folderHooks = createFolderHooks(deps, shared)
  const configHooks = createConfigHooks(deps, shared)
  let match = createEventMatcher<Listener>([])
  let stopped: Promise<void> | undefined

  function subscriptions(): Subscription<Listener>[] {
    return [...folderHooks.subscriptions(), ...configHooks.subscriptions()]
  }

  function connect(all: readonly Subscription<Listener>[]): void {
    match = createEventMatcher(all)
    subscribed.clear()
    for (const { events } of all)
      for (const event of events) if (!event.startsWith(gatewayPrefix)) subscribed.add(event)
  }

  function find(name: string): Listener | undefined {
    return folderHooks.find(name) ?? configHooks.find(name)
  }

  return {
    discoverAndLoad() {
      folderHooks.discover()
      configHooks.refresh()
    },
    watch: folderHooks.watch,

    emit(name, context) {
      for (const listener of match(name)) listener.notify(name, context)
    },

    async emitCollect(name, context, timeoutMs) {
      const matched = match(name)
      if (matched.length === 0) return []
      // The fallback of a hook counts until the hook has responded.
      const results = matched.map((listener) => listener.fallback(context))
      const all = matched.map(async (listener, index) => {
        results[index] = await listener.request(name, context)
      })
      const { done } = await withTimeout(Promise.all(all), timeoutMs)
      if (!done)
        log.warn({ event: 'hook.decision_timeout', hookEvent: name, timeoutMs }, 'hooks did not decide in time')
      return results.filter((result) => result !== undefined && result !== null)
    },

    subscribed,
    hasListeners: (name) => match(name).length > 0,
    list: () => [...folderHooks.list(), ...configHooks.list()],
    processes: folderHooks.processes,
    testFire: async (name, event, context) => await find(name)?.testFire(event, context),

    pause(name) {
      const listener = find(name)
      if (listener === undefined) return false
      paused.add(name)
      writePaused(folder, paused)
      listener.pause()
      return true
    },
    resume(name) {
      const listener = find(name)
      if (listener === undefined) return false
      if (paused.delete(name)) writePaused(folder, paused)
      listener.resume()
      return true
    },

    applyConfig() {
      folderHooks.applyConfig()
      configHooks.refresh()
    },

    async waitUntilIdle(withinMs, signal) {
      const listeners = new Set(subscriptions().map(({ listener }) => listener))
      const all = Promise.all([...listeners].map((listener) => listener.whenIdle()))
      return (await withTimeout(all, withinMs, signal)).done
    },

    stop(drainMs) {
      connect([])
      configHooks.stop()
      stopped ??= folderHooks.stop(drainMs)
      return stopped
    },
  }
}

const commandPrefix = 'command:'
/** No turn and no message causes these events. */
const gatewayPrefix = 'gateway:'

function createSubscriptions(
  deps: HookRegistryDeps,
  paused: ReadonlySet<string>,
  onChange: () => void,
): HookSubscriptions {
  const canonicalEvent = (event: string): string => {
    if (!event.startsWith(commandPrefix)) return event
    const name = deps.resolveCommand(event.slice(commandPrefix.length))
    return name === undefined ? event : `${commandPrefix}${name}`
  }
  return {
    // The emitted events are read each time, because plugins add and remove commands.
    eventIssue(event) {
      if (event.startsWith(commandPrefix) && deps.commandsMayFollow?.() === true) return undefined
      return createEventValidator(deps.emittedEvents())(canonicalEvent(event))
    },
    canonicalEvents: (events) => subscriptionsOf(events, canonicalEvent),
    isPaused: (id) => paused.has(id),
    onChange,
  }
}

function readPausedOrNone(folder: string, log: Logger): Set<string> {
  try {
    return readPaused(folder)
  } catch (error) {
    log.warn(
      { event: 'hook.paused_unreadable', err: error },
      'the list of paused hooks cannot be read: no hook is paused',
    )
    return new Set()
  }
}

/** Finds the listeners of an event, and caches what it has found. */
type EventMatcher<Listener> = (event: string) => readonly Listener[]

const noListeners: readonly never[] = []
/** Limit of the cache: users choose the names of commands. */
const maxCachedNames = 1_000

/**
 * Matches subscriptions to the exact name of an event first, then those to `<base>:*`.
 * @param subscriptions in the order in which the listeners receive an event
 */
export function createEventMatcher<Listener>(subscriptions: readonly Subscription<Listener>[]): EventMatcher<Listener> {
  const byName = new Map<string, Listener[]>()
  for (const { listener, events } of subscriptions) {
    for (const event of events) {
      const known = byName.get(event)
      if (known === undefined) byName.set(event, [listener])
      else known.push(listener)
    }
  }
  if (byName.size === 0) return () => noListeners
  const cache = new Map<string, readonly Listener[]>()
  return (event) => {
    const cached = cache.get(event)
    if (cached !== undefined) return cached
    const wildcard = wildcardOf(event)
    const all = [...(byName.get(event) ?? []), ...(wildcard === undefined ? [] : (byName.get(wildcard) ?? []))]
    const listeners = all.length === 0 ? noListeners : all
    if (cache.size < maxCachedNames) cache.set(event, listeners)
    return listeners
  }
}
