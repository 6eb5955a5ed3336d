/**
 * The ceiling of a role on commands (contract §3.10, slash tiers). Where a list of administrators is set, everybody else may
 * use only the listed commands. Loaded with the first command of a person who is not an owner.
 */
import type { CommandDefinition } from '../../commands/command.ts'
import type { RoleRules } from '../../inbox/access.ts'
import type { Authority } from '../../message/authority.ts'

/** Commands that everybody with access may use. */
const floor: ReadonlySet<string> = new Set(['help', 'whoami'])

export type CommandTiers = Pick<
  RoleRules,
  'adminFrom' | 'groupAdminFrom' | 'userAllowedCommands' | 'groupUserAllowedCommands'
>

/** The names of the commands that this person may use; `*` for all that are not for owners only. */
export function permittedCommands({ chatType }: Authority, tiers: CommandTiers | undefined): readonly string[] {
  // The lists of direct messages and of groups never apply to each other.
  const [admins, allowed] =
    chatType === 'dm'
      ? [tiers?.adminFrom, tiers?.userAllowedCommands]
      : [tiers?.groupAdminFrom, tiers?.groupUserAllowedCommands]
  if (admins === undefined || admins.length === 0) return ['*']
  return [...floor, ...(allowed ?? []).map((name) => name.replace(/^\//, '').toLowerCase())]
}

type CommandRights = Pick<CommandDefinition, 'name' | 'aliases' | 'minimumRole' | 'changesForAll'>

/** Why the person may not use a command, in words for that person; undefined if it may run. */
export function refuseCommand(
  { name, aliases, minimumRole, changesForAll }: CommandRights,
  authority: Authority,
  tiers: CommandTiers | undefined,
  isShared = false,
): string | undefined {
  if (authority.role === 'owner') return undefined
  if (minimumRole === 'owner') return `\`/${name}\` is for owners of this gateway. You are a ${authority.role}.`
  if (isShared && changesForAll === true && authority.role === 'guest')
    return `\`/${name}\` is for members in a conversation that several people share. You are a guest.`
  const permitted = permittedCommands(authority, tiers)
  if (permitted.includes('*') || [name, ...aliases].some((alias) => permitted.includes(alias))) return undefined
  return `You may not use \`/${name}\` here. \`/whoami\` says what you may do.`
}
