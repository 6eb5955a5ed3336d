/**
 * People whom the allow lists in effect name. While no list names an owner, they are the owners; a person who is approved is put
 * on such a list, too. So the first approval names the owners in `roles.owners`, and a loss of files makes no one an owner.
 */
import { editConfigLists } from '../../config/edit-config.ts'
import type { HomeLayout } from '../../lib/home.ts'
import type { PairedPeople } from '../../pairing/pairing.ts'
import type { PlatformAccount } from '../../platforms/accounts.ts'
import { isPlatformRole } from '../../platforms/config.ts'
import { canBeListed } from './allow-list-files.ts'

/** Whether a list in effect names the person on this platform. */
export function isListed(accounts: readonly PlatformAccount[], platform: string, userId: string): boolean {
  return accounts
    .filter((account) => account.platform.name === platform)
    .some(({ access: { allowFrom, groupAllowFrom, gatewayAllowedUsers } }) =>
      [allowFrom, groupAllowFrom, gatewayAllowedUsers].some((list) => list.includes(userId)),
    )
}

/**
 * Writes those who are owners only because no list names one into `roles.owners`; returns them as `<platform>:<user id>`. Throws
 * `config/unreadable`.
 */
export function nameOwners(
  home: Pick<HomeLayout, 'root' | 'configFile'>,
  accounts: readonly PlatformAccount[],
  { users }: PairedPeople,
): readonly string[] {
  if (accounts.some(({ roles }) => roles.hasOwners)) return []
  const named = accounts.flatMap(({ platform, access }) => {
    if (access.access === 'token') return []
    const paired = users.get(platform.name)
    return [...access.allowFrom, ...access.gatewayAllowedUsers]
      .filter((id) => id !== '' && id !== '*' && paired?.has(id) !== true && !isPlatformRole(id, platform))
      .map((id) => `${platform.name}:${id}`)
  })
  const owners = [...new Set(named)]
  editConfigLists(
    home,
    owners.map((add) => ({ path: ['roles', 'owners'], add })),
  )
  return owners
}

/** Writes a person into `roles.owners`. Throws `config/unreadable`, and an error for an id that the list would read as other people. */
export function nameOwner(
  home: Pick<HomeLayout, 'root' | 'configFile'>,
  accounts: readonly PlatformAccount[],
  platform: string,
  userId: string,
): void {
  const isRole = accounts.some(
    (account) => account.platform.name === platform && isPlatformRole(userId, account.platform),
  )
  if (isRole || !canBeListed(userId)) throw new Error('a list would read this id as other people.')
  editConfigLists(home, [{ path: ['roles', 'owners'], add: `${platform}:${userId}` }])
}
