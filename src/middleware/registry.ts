/**
 * Registrations: the registries of one level, and the registrar through which callers add to them. A level is global, one
 * plugin or one scope.
 */
import { HermesError } from '../lib/errors.ts'
import type {
  Awaitable,
  Guardrails,
  HermesMiddlewareKinds,
  InterceptOptions,
  Intercepts,
  ManagedEvent,
  MiddlewareRegistrar,
  Registration,
  Sanitizers,
} from './contract.ts'

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

export type Subscriber = (event: ManagedEvent) => Awaitable<void>

/** Without the older names, which are the same registries. */
export type HermesCallbacks = Omit<HermesMiddlewareKinds, 'api_request' | 'api_execution'>

/** Every family, each with what it holds of a callback's type. */
export interface Families {
  readonly guardrails: { readonly [On in keyof Guardrails]: Registry<Guardrails[On]> }
  readonly intercepts: { readonly [Point in keyof Intercepts]: Registry<Intercepts[Point]> }
  readonly sanitizers: { readonly [Point in keyof Sanitizers]: Registry<Sanitizers[Point]> }
  readonly hermes: { readonly [Kind in keyof HermesCallbacks]: Registry<HermesCallbacks[Kind]> }
  readonly subscribers: Registry<Subscriber>
}

export interface RegistrationScope extends Families {
  /** Grows with each change. */
  version: number
  /** How many are registered. */
  count: number
}

const nemoOptions = { uniqueNames: true, failsOpen: false }
const hermesOptions = { uniqueNames: false, failsOpen: true }

export function createRegistrationScope(): RegistrationScope {
  return {
    version: 0,
    count: 0,
    guardrails: { tool: new Registry(nemoOptions), model: new Registry(nemoOptions) },
    intercepts: {
      tool_request: new Registry(nemoOptions),
      model_request: new Registry(nemoOptions),
      tool_execution: new Registry(nemoOptions),
      model_execution: new Registry(nemoOptions),
      model_stream: new Registry(nemoOptions),
    },
    sanitizers: {
      tool_request: new Registry(nemoOptions),
      tool_response: new Registry(nemoOptions),
      model_request: new Registry(nemoOptions),
      model_response: new Registry(nemoOptions),
      mark: new Registry(nemoOptions),
      scope_start: new Registry(nemoOptions),
      scope_end: new Registry(nemoOptions),
    },
    hermes: {
      llm_request: new Registry(hermesOptions),
      tool_request: new Registry(hermesOptions),
      llm_execution: new Registry(hermesOptions),
      tool_execution: new Registry(hermesOptions),
    },
    subscribers: new Registry({ uniqueNames: true, failsOpen: true }),
  }
}

export interface RegistrarDeps {
  readonly registrations: RegistrationScope
  readonly plugin: string | undefined
  /** Told of each change: `by` more are registered. */
  onChange(by: 1 | -1): void
  /** False when the level is gone, and with it everything that was registered. */
  isActive(): boolean
}

export function createRegistrar({
  registrations: level,
  plugin,
  onChange: changed,
  isActive: lives,
}: RegistrarDeps): MiddlewareRegistrar {
  const count = (by: 1 | -1) => {
    level.version += 1
    level.count += by
    changed(by)
  }
  const counted = (registration: Registration): Registration => {
    count(1)
    return { name: registration.name, remove: () => lives() && registration.remove() }
  }
  const onRemoved = () => count(-1)
  return {
    registerGuardrail: (name, on, guardrail, options = {}) =>
      counted(requireRegistry(level.guardrails[on], on).add(name, plugin, guardrail, options, onRemoved)),
    registerIntercept: (name, point, intercept, options = {}) =>
      counted(requireRegistry(level.intercepts[point], point).add(name, plugin, intercept, options, onRemoved)),
    registerSanitizer: (name, point, sanitizer, options = {}) =>
      counted(requireRegistry(level.sanitizers[point], point).add(name, plugin, sanitizer, options, onRemoved)),
    registerSubscriber: (name, subscriber) => counted(level.subscribers.add(name, plugin, subscriber, {}, onRemoved)),
    registerMiddleware(kind, callback, options = {}) {
      const name = typeof callback === 'function' && callback.name !== '' ? callback.name : kind
      return counted(requireRegistry(hermesRegistry(level, kind), kind).add(name, plugin, callback, options, onRemoved))
    },
  }
}

const kindAliases = { api_request: 'llm_request', api_execution: 'llm_execution' } as const

function hermesRegistry<Kind extends keyof HermesMiddlewareKinds>(
  level: RegistrationScope,
  kind: Kind,
): Registry<HermesMiddlewareKinds[Kind]>
function hermesRegistry(
  level: RegistrationScope,
  kind: keyof HermesMiddlewareKinds,
): Registry<HermesCallbacks[keyof HermesCallbacks]> | Registry<never> {
  if (kind === 'api_request' || kind === 'api_execution') return level.hermes[kindAliases[kind]]
  return level.hermes[kind]
}

/** Plugins may be written without types. */
function requireRegistry<Found>(registry: Found | undefined, point: string): Found {
  if (registry === undefined) throw new HermesError('middleware/bad-registration', `There is no point "${point}".`)
  return registry
}
