/**
 * The registering side of a level: checks, counts, and hands back what takes a registration away again.
 */
import { HermesError } from '../lib/errors.ts'
import type { HermesKinds, MiddlewareRegistrar, Registration } from './contract.ts'
import type { HermesCallbacks, Level } from './level.ts'
import type { Registry } from './registry.ts'

export interface RegistrarDeps {
  readonly level: Level
  readonly plugin: string | undefined
  /** Told of each change: `by` more are registered. */
  changed(by: 1 | -1): void
  /** False when the level is gone, and with it everything that was registered. */
  lives(): boolean
}

export function createRegistrar({ level, plugin, changed, lives }: RegistrarDeps): MiddlewareRegistrar {
  const count = (by: 1 | -1) => {
    level.version += 1
    level.count += by
    changed(by)
  }
  const counted = (registration: Registration): Registration => {
    count(1)
    return { name: registration.name, remove: () => lives() && registration.remove() }
  }
  const gone = () => count(-1)
  return {
    registerGuardrail: (name, on, guardrail, options = {}) =>
      counted(known(level.guardrails[on], on).add(name, plugin, guardrail, options, gone)),
    registerIntercept: (name, point, intercept, options = {}) =>
      counted(known(level.intercepts[point], point).add(name, plugin, intercept, options, gone)),
    registerSanitizer: (name, point, sanitizer, options = {}) =>
      counted(known(level.sanitizers[point], point).add(name, plugin, sanitizer, options, gone)),
    registerSubscriber: (name, subscriber) => counted(level.subscribers.add(name, plugin, subscriber, {}, gone)),
    registerMiddleware(kind, callback, options = {}) {
      const name = typeof callback === 'function' && callback.name !== '' ? callback.name : kind
      return counted(known(hermesRegistry(level, kind), kind).add(name, plugin, callback, options, gone))
    },
  }
}

const olderNames = { api_request: 'llm_request', api_execution: 'llm_execution' } as const

function hermesRegistry<Kind extends keyof HermesKinds>(level: Level, kind: Kind): Registry<HermesKinds[Kind]>
function hermesRegistry(
  level: Level,
  kind: keyof HermesKinds,
): Registry<HermesCallbacks[keyof HermesCallbacks]> | Registry<never> {
  if (kind === 'api_request' || kind === 'api_execution') return level.hermes[olderNames[kind]]
  return level.hermes[kind]
}

/** Plugins may be written without types. */
function known<Found>(registry: Found | undefined, point: string): Found {
  if (registry === undefined) throw new HermesError('middleware/bad-registration', `There is no point "${point}".`)
  return registry
}
