/**
 * The variants of a call by name. Each one is loaded only in the process that measures it.
 */
import type { CreateVariant } from './workload.ts'

export const variants = {
  bare: async () => (await import('./baselines.ts')).bareFunction,
  koa: async () => (await import('./baselines.ts')).koa,
  onion: async () => (await import('./onion.ts')).onion,
  managed: async () => (await import('./managed-call.ts')).managed,
  'agent call': async () => (await import('./managed-call.ts')).withAgentCallOptions,
  'hermes kinds': async () => (await import('./managed-call.ts')).hermesKinds,
  model: async () => (await import('./managed-call.ts')).model,
  'bare stream': async () => (await import('./baselines.ts')).bareStream,
  stream: async () => (await import('./managed-call.ts')).stream,
  'relay tool': async () => (await import('./relay.ts')).relayTool,
  'relay model': async () => (await import('./relay.ts')).relayModel,
  'relay stream': async () => (await import('./relay.ts')).relayStream,
  'plugin hooks': async () => (await import('./plugin-hooks.ts')).pluginHooks,
} satisfies Record<string, () => Promise<CreateVariant>>

export type VariantName = keyof typeof variants

export function isVariantName(name: string): name is VariantName {
  return Object.hasOwn(variants, name)
}
