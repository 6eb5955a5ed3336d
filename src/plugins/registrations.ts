/**
 * What one plugin has registered: each piece can be taken back by the plugin, and all of it at once when it is unloaded,
 * in reverse order.
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
  /** Registers and remembers. Throws `plugins/unloaded` once it is over, and what `register` throws. */
  add(kind: string, register: () => Registration): Registration
  /** Throws `plugins/unloaded` once it is over. */
  onUnload(callback: () => Awaitable<unknown>): void
  /** In the order in which they were made. */
  list(): readonly RegisteredItem[]
  /** False once everything was taken back. */
  isOpen(): boolean
  /** Calls what wants to be told, then takes everything back. Never rejects. May be called twice. */
  dispose(): Promise<void>
}

/** For one callback of `onUnload`. */
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
      const outcome = await withTimeout(Promise.resolve(callback()), disposerTimeoutMs)
      if (!outcome.done)
        log.warn({ plugin }, `plugin ${plugin} took longer than ${disposerTimeoutMs} ms to end; it is not waited for`)
    } catch (error) {
      log.warn({ plugin, error }, `plugin ${plugin} failed while it ended: ${messageOf(error)}`)
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
          { plugin, kind, name, error },
          `what plugin ${plugin} registered could not be taken back: ${kind} ${name}`,
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
