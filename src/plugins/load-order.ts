/**
 * The order in which plugins are loaded (contract §2.1): what a plugin requires comes before it, then by id.
 */
import type { PluginRequirement } from './manifest.ts'

interface OrderablePlugin {
  readonly id: string
  readonly requires: readonly Pick<PluginRequirement, 'id'>[]
}

export interface LoadOrder<Plugin> {
  readonly order: readonly Plugin[]
  /** The plugins that require each other in a circle, by id; then the order is alphabetical for all. */
  readonly cycle: readonly string[]
}

/** What is required and not there is left out of account. Pure. */
export function loadOrder<Plugin extends OrderablePlugin>(
  plugins: readonly Plugin[],
  matches: (requirement: string, id: string) => boolean,
): LoadOrder<Plugin> {
  const waiting = [...plugins].sort((one, other) => (one.id < other.id ? -1 : 1))
  const order: Plugin[] = []
  while (waiting.length > 0) {
    const next = waiting.findIndex(({ id, requires }) =>
      requires.every((wanted) => !waiting.some((other) => other.id !== id && matches(wanted.id, other.id))),
    )
    const [ready] = next === -1 ? [] : waiting.splice(next, 1)
    if (ready === undefined) {
      const cycle = pluginsInCycles(waiting, matches)
      return { order: [...plugins].sort((one, other) => (one.id < other.id ? -1 : 1)), cycle }
    }
    order.push(ready)
  }
  return { order, cycle: [] }
}

/** Of those that could not be ordered, the ones that require themselves by way of others. */
function pluginsInCycles(
  unordered: readonly OrderablePlugin[],
  matches: (requirement: string, id: string) => boolean,
): string[] {
  const required = ({ requires }: OrderablePlugin) =>
    unordered.filter((other) => requires.some((wanted) => matches(wanted.id, other.id)))
  const reaches = (from: OrderablePlugin): boolean => {
    const seen = new Set(required(from))
    for (const one of seen) for (const other of required(one)) seen.add(other)
    return seen.has(from)
  }
  return unordered.filter(reaches).map(({ id }) => id)
}
