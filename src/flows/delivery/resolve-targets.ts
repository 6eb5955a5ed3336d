/**
 * Finds the chats that the name of a target means where several are possible: `all` is every home channel.
 */
import type { Target } from '../../message/source.ts'
import { findHomeChannels } from './home-channels.ts'
import { type Destinations, formatTarget, resolveTarget } from './resolve-target.ts'

export type FoundTargets = { readonly targets: readonly Target[] } | { readonly problem: string }

/** `local` has no chats. Rejects `store/…`. */
export async function resolveTargets(
  destinations: Destinations,
  name: string,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<FoundTargets> {
  if (isAll(name)) {
    const homes = await destinations.store.run(() => findHomeChannels(destinations.accountDirectory.list()))
    return homes.length === 0 ? { problem: 'there is no home channel' } : { targets: homes.map(({ target }) => target) }
  }
  const resolution = await resolveTarget(destinations, name, origin, signal)
  if ('problem' in resolution) return resolution
  return { targets: resolution.kind === 'chat' ? [resolution.target] : [] }
}

export function isAll(name: string): boolean {
  return name.trim().toLowerCase() === 'all'
}

/** Each chat once, in the order in which they were named. */
export function distinctTargets(targets: readonly Target[]): readonly Target[] {
  return [...new Map(targets.map((target) => [formatTarget(target), target])).values()]
}
