/**
 * Orders plugins for loading (contract §2.1): required plugins first, then by id.
 */
import { isCalled, type NamedPlugin } from './desired-state.ts'
import type { PluginRequirement } from './manifest.ts'

interface OrderablePlugin extends NamedPlugin {
  readonly requires: readonly Pick<PluginRequirement, 'id'>[]
}

export interface LoadOrder<Plugin> {
  readonly order: readonly Plugin[]
  /** The plugins of a dependency cycle, by id. With a cycle all plugins are ordered alphabetically. */
  readonly cycle: readonly string[]
}

/** Ignores requirements that are not installed. Pure. */
export function loadOrder<Plugin extends OrderablePlugin>(plugins: readonly Plugin[]): LoadOrder<Plugin> {
  const waiting = [...plugins].sort((a, b) => (a.id < b.id ? -1 : 1))
  const order: Plugin[] = []
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ id, requires }) =>
      requires.every((requirement) => !waiting.some((other) => other.id !== id && isCalled(requirement.id, other))),
    )
    const [ready] = next === -1 ? [] : waiting.splice(next, 1)
    if (ready === undefined) {
      const cycle = pluginsInCycles(waiting)
      return { order: [...plugins].sort((a, b) => (a.id < b.id ? -1 : 1)), cycle }
    }
    order.push(ready)
  }
  return { order, cycle: [] }
}

/** The unordered plugins that require themselves through other plugins. */
function pluginsInCycles(unordered: readonly OrderablePlugin[]): string[] {
  const required = ({ requires }: OrderablePlugin) =>
    unordered.filter((other) => requires.some((requirement) => isCalled(requirement.id, other)))
  const reaches = (from: OrderablePlugin): boolean => {
    const seen = new Set(required(from))
    for (const plugin of seen) for (const other of required(plugin)) seen.add(other)
    return seen.has(from)
  }
  return unordered.filter(reaches).map(({ id }) => id)
}
