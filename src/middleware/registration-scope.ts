/**
 * Everything that is registered at one level: on everything, by one plugin, or on one scope.
 */
import type { Awaitable, Guardrails, HermesMiddlewareKinds, Intercepts, ManagedEvent, Sanitizers } from './contract.ts'
import { Registry } from './registry.ts'

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
