/**
 * Tracks the registrations of one version of a plugin. The plugin can remove each of them; unloading removes all in reverse
 * order. The registrations of a new version are staged until they replace those of the previous version.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Awaitable, Registration } from '../middleware/contract.ts'

export interface RegisteredItem {
  /** `hook`, `middleware`, `tool` … */
  readonly kind: string
  readonly name: string
}

export interface Registrations {
  /**
   * Calls `register` and tracks its result; a staged registration is checked now and made by `replace`. Throws
   * `plugins/unloaded` after `dispose`, and errors of `register` or `check`.
   */
  add(kind: string, name: string, register: () => Registration, check?: () => void): Registration
  /** Throws `plugins/unloaded` after `dispose`. */
  onUnload(callback: () => Awaitable<unknown>): void
  /** In the order of registration. */
  list(): readonly RegisteredItem[]
  /** False after `dispose`, and after the registrations were replaced. */
  isOpen(): boolean
  /** Calls the callbacks of `onUnload`; the registrations stay. Never rejects. Repeated calls have no effect. */
  runUnloadCallbacks(): Promise<void>
  /**
   * Removes the registrations of the previous version and makes the staged ones, without a pause in which neither exist.
   * If one of them cannot be made, it restores the previous ones and throws `plugins/unloadable`.
   */
  replace(previous: Registrations): void
  /** Removes the registrations until `resume` or `discard`. */
  suspend(): void
  resume(): void
  discard(): void
  /** Calls the callbacks of `onUnload`, then removes all registrations. Never rejects. May be called twice. */
  dispose(): Promise<void>
}

export interface RegistrationsOptions {
  /** Registrations wait for `replace`. */
  readonly staged?: boolean
}

interface Entry {
  readonly kind: string
  readonly name: string
  readonly register: () => Registration
  /** The location in the plugin, for errors of a staged registration. */
  readonly site: Error | undefined
  /** Undefined while it is staged or suspended. */
  current: Registration | undefined
}

/** Timeout of one callback of `onUnload`. */
const disposerTimeoutMs = 5_000

export function createRegistrations(
  plugin: string,
  log: Logger,
  { staged = false }: RegistrationsOptions = {},
): Registrations {
  const entries: Entry[] = []
  const disposers: (() => Awaitable<unknown>)[] = []
  let isStaged = staged
  let open = true
  let unloading: Promise<void> | undefined
  let disposed: Promise<void> | undefined

  function checkOpen(): void {
    if (!open) throw new HermesError('plugins/unloaded', `(${plugin})`)
  }

  async function runDisposer(callback: () => Awaitable<unknown>): Promise<void> {
    try {
      const result = await withTimeout(Promise.resolve(callback()), disposerTimeoutMs)
      if (!result.done)
        log.warn(
          { event: 'plugin.unload_timed_out', plugin, ms: disposerTimeoutMs },
          'an onUnload callback timed out; unloading continues',
        )
    } catch (error) {
      log.warn({ event: 'plugin.unload_failed', plugin, err: error }, 'an onUnload callback failed')
    }
  }

  async function runDisposers(): Promise<void> {
    for (const callback of disposers.toReversed()) await runDisposer(callback)
  }

  function runUnloadCallbacks(): Promise<void> {
    unloading ??= runDisposers()
    return unloading
  }

  async function disposeAll(): Promise<void> {
    open = false
    await runUnloadCallbacks()
    suspend()
    entries.length = 0
  }

  function suspend(): void {
    for (const entry of entries.toReversed()) {
      try {
        entry.current?.remove()
        entry.current = undefined
      } catch (error) {
        const { kind, name } = entry
        log.error(
          { event: 'plugin.registration_not_removed', plugin, kind, name, err: error },
          'a registration of a plugin cannot be removed',
        )
      }
    }
  }

  function resume(): void {
    for (const entry of entries) {
      try {
        entry.current ??= entry.register()
      } catch (error) {
        const { kind, name } = entry
        log.error(
          { event: 'plugin.registration_not_restored', plugin, kind, name, err: error },
          'a registration of a plugin cannot be restored',
        )
      }
    }
  }

  function makeStaged(): void {
    for (const entry of entries) {
      try {
        entry.current = entry.register()
      } catch (error) {
        if (entry.site !== undefined) entry.site.cause = error
        throw new HermesError('plugins/unloadable', messageOf(error), { cause: entry.site })
      }
    }
    isStaged = false
  }

  return {
    add(kind, name, register, check) {
      checkOpen()
      if (isStaged) check?.()
      const site = isStaged ? new Error(`registration of ${kind} ${name}`) : undefined
      const entry: Entry = { kind, name, register, site, current: isStaged ? undefined : register() }
      entries.push(entry)
      return {
        get name() {
          return entry.current?.name ?? name
        },
        remove() {
          const at = entries.indexOf(entry)
          if (at === -1) return false
          entries.splice(at, 1)
          return entry.current?.remove() ?? true
        },
      }
    },
    onUnload(callback) {
      checkOpen()
      disposers.push(callback)
    },
    list: () => entries.map(({ kind, name, current }) => ({ kind, name: current?.name ?? name })),
    isOpen: () => open,
    runUnloadCallbacks,
    replace(previous) {
      previous.suspend()
      try {
        makeStaged()
      } catch (error) {
        suspend()
        previous.resume()
        throw error
      }
      previous.discard()
    },
    suspend,
    resume,
    discard() {
      open = false
      entries.length = 0
    },
    dispose() {
      disposed ??= disposeAll()
      return disposed
    },
  }
}
