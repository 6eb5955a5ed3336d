/**
 * The HookRegistry: hands every gateway event to the hooks that want it (contract §1). Nothing here ever delays a turn:
 * `emit` puts the event into the lines of its hooks and returns.
 */
import { within } from '../lib/wait.ts'
import type { EventListener, HookEventName, HookEvents } from '../message/hook-events.ts'
import { type ConfigHooksDeps, createConfigHooks } from './config-hooks.ts'
import { createFolderHooks, type FolderHooksDeps } from './folder-hooks.ts'
import type { Listener } from './listener.ts'
import { createDoubts, createMatcher, subscriptionsOf } from './matching.ts'
import type { Outcome } from './outcome.ts'
import { readPaused, writePaused } from './paused.ts'
import type { HookReport } from './report.ts'

type Ours = 'doubtAbout' | 'subscriptionsOf' | 'isPaused' | 'onChange'

export interface HookRegistryDeps
  extends Omit<FolderHooksDeps, Ours>,
    Pick<ConfigHooksDeps, 'fetch' | 'newId' | 'acceptsAll'> {
  /** The user's folder of hooks. */
  readonly folder: string
  /** Every event that is emitted, also those of commands. */
  emitted(): readonly string[]
  /** The canonical name of a slash command or of one of its aliases. */
  commandCalled(name: string): string | undefined
}

export interface HookRegistry {
  /** Finds the hooks that are there. Starts none: that is done by the first event they want. Never throws. */
  discoverAndLoad(): void
  /** Follows the folders from now on: hooks that come, change or go take effect at once. */
  watch(): void
  /** Returns at once. Never throws. Nobody may change the context afterwards; each handler gets a copy of its own. */
  readonly emit: EventListener
  /**
   * What handlers returned within `withinMs`, in their order, without null and undefined. Handlers that take longer still
   * hear the event. Never rejects.
   */
  emitCollect<Name extends HookEventName>(name: Name, context: HookEvents[Name], withinMs: number): Promise<unknown[]>
  /** Whether any hook wants this event. */
  hears(name: HookEventName): boolean
  list(): readonly HookReport[]
  processes(): readonly { readonly name: string; readonly pid: number | undefined; readonly state: string }[]
  /** Calls one hook now and tells how it went; undefined when there is none of this name. Never rejects. */
  tryOut(
    name: string,
    event: string,
    context: unknown,
  ): Promise<{ readonly outcome: Outcome; readonly ms: number } | undefined>
  /** It hears nothing until it is resumed, also after a restart. False when there is none of this name. */
  pause(name: string): boolean
  /** It hears events again, whatever kept it from doing so. False when there is none of this name. */
  resume(name: string): boolean
  /** The configuration or the environment is another one. */
  reconfigured(): void
  /** Resolves when every event was handled, after `withinMs`, or when the signal aborts; tells whether all were. */
  settled(withinMs: number, signal?: AbortSignal): Promise<boolean>
  /** Hears nothing more, lets what runs end for at most `drainMs`, and ends all processes. May be called twice. */
  stop(drainMs: number): Promise<void>
}

const commandPrefix = 'command:'

export function createHookRegistry(deps: HookRegistryDeps): HookRegistry {
  const { folder, log } = deps
  const paused = readPausedOrNone()
  let match = createMatcher<Listener>([])
  let stopped: Promise<void> | undefined

  function canonical(event: string): string {
    if (!event.startsWith(commandPrefix)) return event
    const name = deps.commandCalled(event.slice(commandPrefix.length))
    return name === undefined ? event : `${commandPrefix}${name}`
  }

  /** Commands of plugins come and go. */
  const doubts = (event: string) => createDoubts(deps.emitted())(event)
  const common = {
    ...deps,
    doubtAbout: (event: string) => doubts(canonical(event)),
    subscriptionsOf: (events: readonly string[]) => subscriptionsOf(events, canonical),
    isPaused: (id: string) => paused.has(id),
    onChange() {
      match = createMatcher(subscriptions())
    },
  }
  const folders = createFolderHooks(common)
  const configured = createConfigHooks(common)

  function subscriptions() {
    return [...folders.subscriptions(), ...configured.subscriptions()]
  }

  function find(name: string): Listener | undefined {
    return folders.find(name) ?? configured.find(name)
  }

  function readPausedOrNone(): Set<string> {
    try {
      return readPaused(folder)
    } catch (error) {
      log.warn({ error }, 'which hooks are paused cannot be read: none is')
      return new Set()
    }
  }

  function listeners(): Listener[] {
    return [...new Set(subscriptions().map(({ listener }) => listener))]
  }

  return {
    discoverAndLoad() {
      folders.discover()
      configured.refresh()
    },
    watch: folders.watch,

    emit(name, context) {
      for (const listener of match(name)) listener.hear(name, context)
    },

    async emitCollect(name, context, withinMs) {
      const asked = match(name)
      if (asked.length === 0) return []
      // Until it has answered, what it says in doubt counts.
      const answers = asked.map((listener) => listener.inDoubt(context))
      const all = asked.map(async (listener, index) => {
        answers[index] = await listener.ask(name, context)
      })
      const { done } = await within(Promise.all(all), withinMs)
      if (!done) log.warn({ event: name }, `hooks took longer than ${withinMs} ms to decide about ${name}`)
      return answers.filter((answer) => answer !== undefined && answer !== null)
    },

    hears: (name) => match(name).length > 0,
    list: () => [...folders.reports(), ...configured.reports()],
    processes: folders.processes,
    tryOut: async (name, event, context) => await find(name)?.tryOut(event, context),

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

    reconfigured() {
      folders.reconfigured()
      configured.refresh()
    },

    async settled(withinMs, signal) {
      const { done } = await within(Promise.all(listeners().map((listener) => listener.idle())), withinMs, signal)
      return done
    },

    stop(drainMs) {
      match = createMatcher([])
      configured.end()
      stopped ??= folders.stop(drainMs)
      return stopped
    },
  }
}
