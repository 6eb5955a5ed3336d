/**
 * The chats to which a job may send: its own one, and those that its person may name (`send_message` of the configuration).
 */
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import { type PermittedChatsDeps, resolvePermitted, rulesOf } from '../delivery/permitted-chats.ts'
import { type FoundTargets, isAll, resolveTargets } from '../delivery/resolve-targets.ts'

/**
 * @param authority of the person who made the job, as it is now
 * @param origin the chat in which the job was made; it is always permitted
 * Rejects `store/…`.
 */
export async function findJobTargets(
  deps: PermittedChatsDeps,
  authority: Authority,
  name: string,
  origin: Target | undefined,
  signal: AbortSignal,
): Promise<FoundTargets> {
  const isOwn = ['origin', 'local'].includes(name.trim().toLowerCase())
  if (isOwn || mayNameAnyChat(deps, authority)) return await resolveTargets(deps, name, origin, signal)
  if (isAll(name))
    return rulesOf(deps, authority).includes('home') ? await resolveTargets(deps, name, origin, signal) : refused
  const permitted = await resolvePermitted(deps, authority, origin, name, signal)
  if (permitted === undefined) return refused
  if ('problem' in permitted) return permitted
  return { targets: permitted.kind === 'chat' ? [permitted.target] : [] }
}

/** A person without an id holds the token of the gateway, or wrote `jobs.json`. */
export function mayNameAnyChat(deps: Pick<PermittedChatsDeps, 'settings'>, authority: Authority): boolean {
  return (authority.role === 'owner' && authority.userId === undefined) || rulesOf(deps, authority).includes('*')
}

const refused = { problem: 'this person may not send messages there (send_message)' } as const
