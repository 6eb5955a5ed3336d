/**
 * Everything that is registered at one level: on everything, by one plugin, or on one scope.
 */
import type { Awaitable, Guardrails, HermesKinds, Intercepts, ManagedEvent, Sanitizers } from './contract.ts'
import { Registry } from './registry.ts'

export type Subscriber = (event: ManagedEvent) => Awaitable<void>

/** Without the older names, which are the same registries. */
export type HermesCallbacks = Omit<HermesKinds, 'api_request' | 'api_execution'>

/** Every family, each with what it holds of a callback's type. */
export interface Families {
  readonly guardrails: { readonly [On in keyof Guardrails]: Registry<Guardrails[On]> }
  readonly intercepts: { readonly [Point in keyof Intercepts]: Registry<Intercepts[Point]> }
  readonly sanitizers: { readonly [Point in keyof Sanitizers]: Registry<Sanitizers[Point]> }
  readonly hermes: { readonly [Kind in keyof HermesCallbacks]: Registry<HermesCallbacks[Kind]> }
  readonly subscribers: Registry<Subscriber>
}

export interface Level extends Families {
  /** Grows with each change. */
  version: number
  /** How many are registered. */
  count: number
}

const nemo = { named: true, failsOpen: false }
const hermes = { named: false, failsOpen: true }

export function createLevel(): Level {
  return {
    version: 0,
    count: 0,
    guardrails: { tool: new Registry(nemo), model: new Registry(nemo) },
    intercepts: {
      tool_request: new Registry(nemo),
      model_request: new Registry(nemo),
      tool_execution: new Registry(nemo),
      model_execution: new Registry(nemo),
      model_stream: new Registry(nemo),
    },
    sanitizers: {
      tool_request: new Registry(nemo),
      tool_response: new Registry(nemo),
      model_request: new Registry(nemo),
      model_response: new Registry(nemo),
      mark: new Registry(nemo),
      scope_start: new Registry(nemo),
      scope_end: new Registry(nemo),
    },
    hermes: {
      llm_request: new Registry(hermes),
      tool_request: new Registry(hermes),
      llm_execution: new Registry(hermes),
      tool_execution: new Registry(hermes),
    },
    subscribers: new Registry({ named: true, failsOpen: true }),
  }
}
