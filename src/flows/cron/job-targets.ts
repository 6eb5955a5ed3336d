/**
 * The chats to which a job may send: its own one, and those that its person may name (`send_message` of the configuration).
 */
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import { resolvePermitted, rulesOf } from '../delivery/permitted-chats.ts'
import type { Destinations } from '../delivery/resolve-target.ts'
import { type FoundTargets, isAll, resolveTargets } from '../delivery/resolve-targets.ts'

/**
 * @param authority of the person who made the job, as it is now
 * @param origin the chat in which the job was made; it is always permitted
 * Rejects `store/…`.
 */
export async function findJobTargets(
  destinations: Destinations,
  authority: Authority,
  name: string,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<FoundTargets> {
  const isOwn = ['origin', 'local'].includes(name.trim().toLowerCase())
  if (isOwn || mayNameAnyChat(destinations, authority)) return await resolveTargets(destinations, name, origin, signal)
  if (isAll(name))
    return rulesOf(destinations, authority).includes('home')
      ? await resolveTargets(destinations, name, origin, signal)
      : refused
  const permitted = await resolvePermitted(destinations, authority, origin, name, signal)
  if (permitted === undefined) return refused
  if ('problem' in permitted) return permitted
  return { targets: permitted.kind === 'chat' ? [permitted.target] : [] }
}

/** A person without an id holds the token of the gateway, or wrote `jobs.json`. */
export function mayNameAnyChat(destinations: Pick<Destinations, 'settings'>, authority: Authority): boolean {
  return (
    (authority.role === 'owner' && authority.userId === undefined) || rulesOf(destinations, authority).includes('*')
  )
}

const refused = { problem: 'this person may not send messages there (send_message)' } as const
