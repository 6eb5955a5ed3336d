/**
 * What the person who made a job may do now. A job does not outlive that.
 */
import type { StoredJob } from '../../cron/job-store.ts'
import type { Authority } from '../../message/authority.ts'
import type { AccountDirectory } from '../access/account-directory.ts'

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
