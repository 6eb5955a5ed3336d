/**
 * What the person who made a job may do now: let it run, and send to which chats (`send_message` of the configuration). A job does not
 * outlive that.
 */

import type { StoredJob } from '../../cron/job-store.ts'
import type { Authority } from '../../message/authority.ts'
import type { Target } from '../../message/source.ts'
import type { AccountDirectory } from '../access/account-directory.ts'
import { resolvePermitted, rulesOf } from '../delivery/permitted-chats.ts'
import { type Destinations, type FoundTargets, isAll, resolveTargets } from '../delivery/resolve-target.ts'

type Rights = Pick<AccountDirectory, 'lowerAuthority' | 'isRevoked'>

/** The authority of a person, with what the configuration permits now. */
export function currentAuthority(accountDirectory: Rights, authority: Authority): Authority {
  return accountDirectory.lowerAuthority(authority, causedBy(authority))
}

/** Why a job may not run any more: a sentence; '' if it may. */
export function jobRefusal(accountDirectory: Rights, { job, authority }: StoredJob): string {
  if (accountDirectory.isRevoked({ ...causedBy(authority), authority }))
    return 'The person who made this job has no access any more. It is paused.'
  const { role } = currentAuthority(accountDirectory, authority)
  if (role === 'guest') return 'The person who made this job may not schedule jobs any more. It is paused.'
  return role !== 'owner' && (job.script !== '' || job.no_agent || job.workdir !== '')
    ? 'The person who made this job may not schedule scripts any more. It is paused.'
    : ''
}

/** The message of a job, as far as the rights of its person depend on it. */
function causedBy({ platform, account = 'default', chatId = '', ...person }: Authority) {
  return { source: { ...person, platform, account, chatId }, internal: true as const }
}

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
