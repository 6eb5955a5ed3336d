/**
 * The variants of a call by name. Each one is loaded only in the process that measures it.
 */
import type { WayMaker } from './workload.ts'

export const ways = {
  bare: async () => (await import('./plain.ts')).bareFunction,
  koa: async () => (await import('./plain.ts')).koa,
  onion: async () => (await import('./onion.ts')).onion,
  managed: async () => (await import('./ours.ts')).managed,
  'as the agent calls': async () => (await import('./ours.ts')).asTheAgentCalls,
  'hermes kinds': async () => (await import('./ours.ts')).hermesKinds,
  model: async () => (await import('./ours.ts')).model,
  'bare stream': async () => (await import('./plain.ts')).bareStream,
  stream: async () => (await import('./ours.ts')).stream,
  'relay tool': async () => (await import('./relay.ts')).relayTool,
  'relay model': async () => (await import('./relay.ts')).relayModel,
  'relay stream': async () => (await import('./relay.ts')).relayStream,
  'plugin hooks': async () => (await import('./plugin-hooks.ts')).pluginHooks,
} satisfies Record<string, () => Promise<WayMaker>>

export type WayName = keyof typeof ways

export function isWay(name: string): name is WayName {
  return Object.hasOwn(ways, name)
}
