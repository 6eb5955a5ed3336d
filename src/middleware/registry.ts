/**
 * Registrations: the registries of one level, and the registrar through which callers add to them. A level is global, one
 * plugin or one scope.
 */
import { HermesError } from '../lib/errors.ts'
import type {
  AnswerMode,
  Awaitable,
  Guardrails,
  HermesMiddlewareKinds,
  InterceptOptions,
  Intercepts,
  ManagedEvent,
  MiddlewareRegistrar,
  Registration,
  Sanitizers,
  SubscriberOptions,
} from './contract.ts'

export interface Entry<Callback> {
  readonly name: string
  /** Undefined for registrations outside of plugins. */
  readonly plugin: string | undefined
  readonly callback: Callback
  readonly priority: number
  readonly failsOpen: boolean
  readonly breakChain: boolean
  /** Only for wrappers of model calls. */
  readonly answers: AnswerMode | undefined
  /** Only for subscribers. */
  readonly receivesChunks: boolean
}

export type Entries<Callback> = readonly Entry<Callback>[]

export interface RegistryOptions {
  /** Names are unique and order entries of equal priority. Otherwise the order of registration does. */
  readonly uniqueNames: boolean
  /** Failure mode of registrations that do not set `fails`. */
  readonly failsOpen: boolean
}

export class Registry<Callback> {
  /** Each change creates a new array, so that a reference to it is a snapshot. */
  entries: Entries<Callback> = []
  readonly registryOptions: RegistryOptions

  constructor(options: RegistryOptions) {
    this.registryOptions = options
  }

  /** Throws `middleware/bad-registration` and `middleware/name-taken`. `onRemoved` is called when the entry is removed. */
  add(
    name: string,
    plugin: string | undefined,
    callback: Callback,
    options: InterceptOptions & SubscriberOptions,
    onRemoved: () => void,
  ): Registration {
    const { priority = 0, fails, breakChain = false, answers, chunks: receivesChunks = false } = options
    validateRegistration(name, callback, priority, fails, answers)
    if (this.registryOptions.uniqueNames && this.entries.some((entry) => entry.name === name))
      throw new HermesError('middleware/name-taken', `Name: "${name}".`)
    const failsOpen = fails === undefined ? this.registryOptions.failsOpen : fails === 'open'
    const entry: Entry<Callback> = { name, plugin, callback, priority, failsOpen, breakChain, answers, receivesChunks }
    const entries = [...this.entries, entry]
    this.entries = this.registryOptions.uniqueNames ? entries.sort(byName) : entries
    return {
      name,
      remove: () => {
        if (!this.entries.includes(entry)) return false
        this.entries = this.entries.filter((other) => other !== entry)
        onRemoved()
        return true
      },
    }
  }
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}

/** Checked at run time, because plugins may be written in JavaScript. */
function validateRegistration(
  name: unknown,
  callback: unknown,
  priority: unknown,
  fails: unknown,
  answers: unknown,
): void {
  const invalid = (detail: string) => new HermesError('middleware/bad-registration', detail)
  if (typeof name !== 'string' || name === '') throw invalid('The name must be a non-empty string.')
  if (typeof callback !== 'function') throw invalid(`The callback of "${name}" is not a function.`)
  if (typeof priority !== 'number' || !Number.isFinite(priority))
    throw invalid(`The priority of "${name}" is not a number.`)
  if (fails !== undefined && fails !== 'open' && fails !== 'closed')
    throw invalid(`"fails" of "${name}" is neither 'open' nor 'closed'.`)
  if (answers !== undefined && answers !== 'unchanged' && answers !== 'replaced')
    throw invalid(`"answers" of "${name}" is neither 'unchanged' nor 'replaced'.`)
}

export type Subscriber = (event: ManagedEvent) => Awaitable<void>

/** Without the older names, which share the registries of the newer ones. */
export type HermesCallbacks = Omit<HermesMiddlewareKinds, 'api_request' | 'api_execution'>

/** The callbacks of each family. */
export interface FamilyCallbacks {
  readonly guardrails: Guardrails
  readonly intercepts: Intercepts
  readonly sanitizers: Sanitizers
  readonly hermes: HermesCallbacks
}

type Registries<Callbacks> = { readonly [Key in keyof Callbacks]: Registry<Callbacks[Key]> }

/** The registries of all families. */
export type Families = { readonly [Family in keyof FamilyCallbacks]: Registries<FamilyCallbacks[Family]> } & {
  readonly subscribers: Registry<Subscriber>
}

/** The registrations of one level. */
export interface RegistrationScope extends Families {
  /** Incremented with each change. */
  version: number
  /** Number of registrations. */
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

/**
 * @param onChange called for each registration (`1`) and each removal (`-1`)
 * @param isActive false once the level is closed and its registrations are removed
 */
export function createRegistrar(
  registrations: RegistrationScope,
  plugin: string | undefined,
  onChange: (by: 1 | -1) => void,
  isActive: () => boolean = () => true,
): MiddlewareRegistrar {
  const count = (by: 1 | -1) => {
    registrations.version += 1
    registrations.count += by
    onChange(by)
  }
  const counted = (registration: Registration): Registration => {
    count(1)
    return { name: registration.name, remove: () => isActive() && registration.remove() }
  }
  const onRemoved = () => count(-1)
  return {
    registerGuardrail: (name, on, guardrail, options = {}) =>
      counted(requireRegistry(registrations.guardrails[on], on).add(name, plugin, guardrail, options, onRemoved)),
    registerIntercept: (name, point, intercept, options = {}) =>
      counted(requireRegistry(registrations.intercepts[point], point).add(name, plugin, intercept, options, onRemoved)),
    registerSanitizer: (name, point, sanitizer, options = {}) =>
      counted(requireRegistry(registrations.sanitizers[point], point).add(name, plugin, sanitizer, options, onRemoved)),
    registerSubscriber: (name, subscriber, { chunks = false } = {}) =>
      counted(registrations.subscribers.add(name, plugin, subscriber, { chunks }, onRemoved)),
    registerMiddleware(kind, callback, options = {}) {
      const name = typeof callback === 'function' && callback.name !== '' ? callback.name : kind
      return counted(
        requireRegistry(hermesRegistry(registrations, kind), kind).add(name, plugin, callback, options, onRemoved),
      )
    },
  }
}

const kindAliases = { api_request: 'llm_request', api_execution: 'llm_execution' } as const

function hermesRegistry<Kind extends keyof HermesMiddlewareKinds>(
  registrations: RegistrationScope,
  kind: Kind,
): Registry<HermesMiddlewareKinds[Kind]>
function hermesRegistry(
  registrations: RegistrationScope,
  kind: keyof HermesMiddlewareKinds,
): Registry<HermesCallbacks[keyof HermesCallbacks]> | Registry<never> {
  if (kind === 'api_request' || kind === 'api_execution') return registrations.hermes[kindAliases[kind]]
  return registrations.hermes[kind]
}

/** JavaScript plugins may name a point that does not exist. */
function requireRegistry<Found>(registry: Found | undefined, point: string): Found {
  if (registry === undefined) throw new HermesError('middleware/bad-registration', `Unknown point: "${point}".`)
  return registry
}
