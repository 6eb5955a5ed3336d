/**
 * One registry of one level: who is registered for one point, in the order that decides between equal priorities.
 */
import { HermesError } from '../lib/errors.ts'
import type { InterceptOptions, Registration } from './contract.ts'

export interface Entry<Callback> {
  readonly name: string
  /** The plugin it belongs to; undefined where no plugin registered it. */
  readonly plugin: string | undefined
  readonly callback: Callback
  readonly priority: number
  readonly failsOpen: boolean
  readonly breakChain: boolean
}

export type Entries<Callback> = readonly Entry<Callback>[]

export interface RegistryOptions {
  /** Names are unique and decide between equals; otherwise the order of registration does. */
  readonly uniqueNames: boolean
  /** How its family fails when a registration does not say. */
  readonly failsOpen: boolean
}

export class Registry<Callback> {
  /** A new list with each change: who holds one, holds a snapshot. */
  entries: Entries<Callback> = []
  readonly registryOptions: RegistryOptions

  constructor(rules: RegistryOptions) {
    this.registryOptions = rules
  }

  /** Throws `middleware/bad-registration` and `middleware/name-taken`. `gone` is called when it is taken away. */
  add(
    name: string,
    plugin: string | undefined,
    callback: Callback,
    options: InterceptOptions,
    gone: () => void,
  ): Registration {
    const { priority = 0, fails, breakChain = false } = options
    validateRegistration(name, callback, priority, fails)
    if (this.registryOptions.uniqueNames && this.entries.some((entry) => entry.name === name))
      throw new HermesError('middleware/name-taken', `"${name}" is registered here already.`)
    const failsOpen = fails === undefined ? this.registryOptions.failsOpen : fails === 'open'
    const entry: Entry<Callback> = { name, plugin, callback, priority, failsOpen, breakChain }
    const entries = [...this.entries, entry]
    this.entries = this.registryOptions.uniqueNames ? entries.sort(byName) : entries
    return {
      name,
      remove: () => {
        if (!this.entries.includes(entry)) return false
        this.entries = this.entries.filter((other) => other !== entry)
        gone()
        return true
      },
    }
  }
}

function byName(one: { readonly name: string }, other: { readonly name: string }): number {
  if (one.name === other.name) return 0
  return one.name < other.name ? -1 : 1
}

/** Plugins may be written without types. */
function validateRegistration(name: unknown, callback: unknown, priority: unknown, fails: unknown): void {
  const wrong = (what: string) => new HermesError('middleware/bad-registration', what)
  if (typeof name !== 'string' || name === '') throw wrong('The name must be a text that is not empty.')
  if (typeof callback !== 'function') throw wrong(`What is registered as "${name}" is not a function.`)
  if (typeof priority !== 'number' || !Number.isFinite(priority))
    throw wrong(`The priority of "${name}" is not a number.`)
  if (fails !== undefined && fails !== 'open' && fails !== 'closed')
    throw wrong(`"${name}" says neither fails: 'open' nor fails: 'closed'.`)
}
