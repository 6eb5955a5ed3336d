/**
 * The HookRegistry: hands every gateway event to the hooks that want it (contract §1). Nothing here ever delays a turn:
 * `emit` puts the event into the lines of its hooks and returns.
 */
import { withTimeout } from '../lib/timers.ts'
import type { HookEventListener, HookEventName, HookEvents } from '../message/hook-events.ts'
import { type ConfigHooksDeps, createConfigHooks } from './config-hooks.ts'
import { createEventMatcher, createEventValidator, subscriptionsOf } from './event-matcher.ts'
import { createFolderHooks, type FolderHooksDeps } from './folder-hooks.ts'
import type { HandlerResult } from './handler-result.ts'
import type { HookStatus } from './hook-status.ts'
import type { Listener } from './listener.ts'
import { readPaused, writePaused } from './paused-hooks.ts'

type ProvidedDeps = 'eventIssue' | 'subscriptionsOf' | 'isPaused' | 'onChange'

export interface HookRegistryDeps
  extends Omit<FolderHooksDeps, ProvidedDeps>,
    Pick<ConfigHooksDeps, 'fetch' | 'newId' | 'acceptsAll'> {
  /** The user's folder of hooks. */
  readonly folder: string
  /** Every event that is emitted, also those of commands. */
  emittedEvents(): readonly string[]
  /** The canonical name of a slash command or of one of its aliases. */
  resolveCommand(name: string): string | undefined
}

export interface HookRegistry {
  /** Finds the hooks that are there. Starts none: that is done by the first event they want. Never throws. */
  discoverAndLoad(): void
  /** Follows the folders from now on: hooks that come, change or go take effect at once. */
  watch(): void
  /** Returns at once. Never throws. Nobody may change the context afterwards; each handler gets a copy of its own. */
  readonly emit: HookEventListener
  /**
   * What handlers returned within `withinMs`, in their order, without null and undefined. Handlers that take longer still
   * hear the event. Never rejects.
   */
  emitCollect<Name extends HookEventName>(name: Name, context: HookEvents[Name], withinMs: number): Promise<unknown[]>
  /** Whether any hook wants this event. */
  hasListeners(name: HookEventName): boolean
  list(): readonly HookStatus[]
  processes(): readonly { readonly name: string; readonly pid: number | undefined; readonly state: string }[]
  /** Calls one hook now and tells how it went; undefined when there is none of this name. Never rejects. */
  testFire(
    name: string,
    event: string,
    context: unknown,
  ): Promise<{ readonly outcome: HandlerResult; readonly ms: number } | undefined>
  /** It hears nothing until it is resumed, also after a restart. False when there is none of this name. */
  pause(name: string): boolean
  /** It hears events again, whatever kept it from doing so. False when there is none of this name. */
  resume(name: string): boolean
  /** The configuration or the environment is another one. */
  applyConfig(): void
  /** Resolves when every event was handled, after `withinMs`, or when the signal aborts; tells whether all were. */
  waitUntilIdle(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Hears nothing more, lets what runs end for at most `drainMs`, and ends all processes. May be called twice. */
  stop(drainMs: number): Promise<void>
}

const commandPrefix = 'command:'

export function createHookRegistry(deps: HookRegistryDeps): HookRegistry {
  const { folder, log } = deps
  const paused = readPausedOrNone()
  let match = createEventMatcher<Listener>([])
  let stopped: Promise<void> | undefined

  function canonicalEvent(event: string): string {
    if (!event.startsWith(commandPrefix)) return event
    const name = deps.resolveCommand(event.slice(commandPrefix.length))
    return name === undefined ? event : `${commandPrefix}${name}`
  }

  /** Commands of plugins come and go. */
  const findEventIssue = (event: string) => createEventValidator(deps.emittedEvents())(event)
  const sharedDeps = {
    ...deps,
    eventIssue: (event: string) => findEventIssue(canonicalEvent(event)),
    subscriptionsOf: (events: readonly string[]) => subscriptionsOf(events, canonicalEvent),
    isPaused: (id: string) => paused.has(id),
    onChange() {
      match = createEventMatcher(subscriptions())
    },
  }
  const folderHooks = createFolderHooks(sharedDeps)
  const configHooks = createConfigHooks(sharedDeps)

  function subscriptions() {
    return [...folderHooks.subscriptions(), ...configHooks.subscriptions()]
  }

  function find(name: string): Listener | undefined {
    return folderHooks.find(name) ?? configHooks.find(name)
  }

  function readPausedOrNone(): Set<string> {
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

  function listeners(): Listener[] {
    return [...new Set(subscriptions().map(({ listener }) => listener))]
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
      // Until it has answered, what it says in doubt counts.
      const results = matched.map((listener) => listener.fallback(context))
      const all = matched.map(async (listener, index) => {
        results[index] = await listener.request(name, context)
      })
      const { done } = await withTimeout(Promise.all(all), timeoutMs)
      if (!done)
        log.warn({ event: 'hook.decision_timeout', hookEvent: name, timeoutMs }, 'hooks did not decide in time')
      return results.filter((result) => result !== undefined && result !== null)
    },

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
      const { done } = await withTimeout(
        Promise.all(listeners().map((listener) => listener.whenIdle())),
        withinMs,
        signal,
      )
      return done
    },

    stop(drainMs) {
      match = createEventMatcher([])
      configHooks.stop()
      stopped ??= folderHooks.stop(drainMs)
      return stopped
    },
  }
}
