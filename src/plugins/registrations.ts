/**
 * What one plugin has registered: each piece can be taken back by the plugin, and all of it at once when it is unloaded,
 * in reverse order.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { within } from '../lib/wait.ts'
import type { Awaitable, Registration } from '../middleware/contract.ts'

export interface Registered {
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
  list(): readonly Registered[]
  /** False once everything was taken back. */
  isOpen(): boolean
  /** Calls what wants to be told, then takes everything back. Never rejects. May be called twice. */
  undo(): Promise<void>
}

/** For one callback of `onUnload`. */
const farewellMs = 5_000

export function createRegistrations(plugin: string, log: Logger): Registrations {
  const made: { readonly kind: string; readonly registration: Registration }[] = []
  const farewells: (() => Awaitable<unknown>)[] = []
  let open = true
  let undone: Promise<void> | undefined

  function checkOpen(): void {
    if (!open) throw new HermesError('plugins/unloaded', `(${plugin})`)
  }

  async function sayFarewell(callback: () => Awaitable<unknown>): Promise<void> {
    try {
      const said = await within(Promise.resolve(callback()), farewellMs)
      if (!said.done)
        log.warn({ plugin }, `plugin ${plugin} took longer than ${farewellMs} ms to end; it is not waited for`)
    } catch (error) {
      log.warn({ plugin, error }, `plugin ${plugin} failed while it ended: ${messageOf(error)}`)
    }
  }

  async function undo(): Promise<void> {
    open = false
    for (const callback of farewells.toReversed()) await sayFarewell(callback)
    for (const { kind, registration } of made.toReversed()) {
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
    made.length = 0
  }

  return {
    add(kind, register) {
      checkOpen()
      const registration = register()
      const entry = { kind, registration }
      made.push(entry)
      return {
        name: registration.name,
        remove() {
          const at = made.indexOf(entry)
          if (at !== -1) made.splice(at, 1)
          return registration.remove()
        },
      }
    },
    onUnload(callback) {
      checkOpen()
      farewells.push(callback)
    },
    list: () => made.map(({ kind, registration: { name } }) => ({ kind, name })),
    isOpen: () => open,
    undo() {
      undone ??= undo()
      return undone
    },
  }
}
