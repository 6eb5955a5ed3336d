/**
 * The registering side of a level: checks, counts, and hands back what takes a registration away again.
 */
import { HermesError } from '../lib/errors.ts'
import type { HermesMiddlewareKinds, MiddlewareRegistrar, Registration } from './contract.ts'
import type { HermesCallbacks, RegistrationScope } from './registration-scope.ts'
import type { Registry } from './registry.ts'

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
