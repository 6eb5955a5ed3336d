/**
 * Tracks the registrations of one plugin. The plugin can remove each of them; unloading removes all in reverse order.
 */
import { HermesError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Awaitable, Registration } from '../middleware/contract.ts'

export interface RegisteredItem {
  /** `hook`, `middleware`, `tool` … */
  readonly kind: string
  readonly name: string
}

export interface Registrations {
  /** Calls `register` and tracks its result. Throws `plugins/unloaded` after `dispose`, and errors of `register`. */
  add(kind: string, register: () => Registration): Registration
  /** Throws `plugins/unloaded` after `dispose`. */
  onUnload(callback: () => Awaitable<unknown>): void
  /** In the order of registration. */
  list(): readonly RegisteredItem[]
  /** False after `dispose`. */
  isOpen(): boolean
  /** Calls the callbacks of `onUnload`, then removes all registrations. Never rejects. May be called twice. */
  dispose(): Promise<void>
}

/** Timeout of one callback of `onUnload`. */
const disposerTimeoutMs = 5_000

export function createRegistrations(plugin: string, log: Logger): Registrations {
  const entries: { readonly kind: string; readonly registration: Registration }[] = []
  const disposers: (() => Awaitable<unknown>)[] = []
  let open = true
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

  async function disposeAll(): Promise<void> {
    open = false
    for (const callback of disposers.toReversed()) await runDisposer(callback)
    for (const { kind, registration } of entries.toReversed()) {
      try {
        registration.remove()
      } catch (error) {
        const { name } = registration
        log.error(
          { event: 'plugin.registration_not_removed', plugin, kind, name, err: error },
          'a registration of a plugin cannot be removed',
        )
      }
    }
    entries.length = 0
  }

  return {
    add(kind, register) {
      checkOpen()
      const registration = register()
      const entry = { kind, registration }
      entries.push(entry)
      return {
        name: registration.name,
        remove() {
          const at = entries.indexOf(entry)
          if (at !== -1) entries.splice(at, 1)
          return registration.remove()
        },
      }
    },
    onUnload(callback) {
      checkOpen()
      disposers.push(callback)
    },
    list: () => entries.map(({ kind, registration: { name } }) => ({ kind, name })),
    isOpen: () => open,
    dispose() {
      disposed ??= disposeAll()
      return disposed
    },
  }
}
