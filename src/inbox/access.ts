/**
 * Decides who may talk to the agent (contract §3.10). Pure. Denies access by default: a rule must allow it.
 */
import type { Authority, Role } from '../message/authority.ts'
import type { SessionSource } from '../message/source.ts'

/** The rules of one account of a platform, and those of the whole gateway. */
export interface AccessRules {
  /**
   * `token`: the platform only accepts users who have the gateway's token or use its terminal. `own`: its adapter verifies each
   * sender, and says so with `roleAuthorized`.
   */
  readonly access: 'token' | 'allowlist' | 'own'
  /** User ids; `*` allows every user. */
  readonly allowFrom: readonly string[]
  /** User ids that are allowed in groups only. */
  readonly groupAllowFrom: readonly string[]
  /** Group chats in which every member is allowed; `*` allows every group. A thread belongs to its channel. */
  readonly groupAllowedChats: readonly string[]
  readonly allowAllUsers: boolean
  /** `mentions`: the adapter only delivers messages of bots that mention the gateway's bot. */
  readonly allowBots: 'none' | 'mentions' | 'all'
  /** `GATEWAY_ALLOWED_USERS`: user ids that are allowed on every platform. */
  readonly gatewayAllowedUsers: readonly string[]
  /** `GATEWAY_ALLOW_ALL_USERS`. */
  readonly gatewayAllowAllUsers: boolean
  /** The people of this platform whom an owner has approved. Absent: none. */
  readonly paired?: PairedUsers
}

/** People with a pairing. An approval also adds them to an allow list, which must not make them owners. */
export interface PairedUsers {
  readonly ids: ReadonlySet<string>
  /** The list was damaged, so that it is not known who of the allow list was paired. */
  readonly isDamaged: boolean
}

/** Where the event comes from. */
export interface EventOrigin {
  /** Created by the gateway (cron, background results). */
  readonly internal?: boolean | undefined
}

export interface AccessDecision {
  readonly allowed: boolean
  /** For the log, and for the sender on private platforms. */
  readonly reason: string
}

/** The rule that decided. `names-listed`: as `not-listed`, but an allow list contains names instead of ids. */
export type AccessRule =
  | 'internal'
  | 'token'
  | 'group-allowed-chats'
  | 'allow-bots'
  | 'no-user'
  | 'allow-all-users'
  | 'role'
  | 'paired'
  | 'allow-from'
  | 'group-allow-from'
  | 'gateway-allowed-users'
  | 'gateway-allow-all-users'
  | 'no-allow-list'
  | 'not-listed'
  | 'names-listed'

export interface RuleDecision extends AccessDecision {
  readonly rule: AccessRule
}

/** Applies the rules in the order of the contract; the first one that matches decides. */
export function decideAccess(source: SessionSource, origin: EventOrigin, rules: AccessRules): RuleDecision {
  if (origin.internal === true) return allow('internal', 'created by the gateway')
  if (rules.access === 'token') return allow('token', 'the platform checks the token of the gateway')

  const inGroup = source.chatType !== 'dm'
  if (inGroup && matchesAny(rules.groupAllowedChats, [source.chatId, source.parentChatId])) {
    return allow('group-allowed-chats', 'the chat is on the list of group chats')
  }
  if (source.isBot === true && rules.allowBots !== 'none') return allow('allow-bots', 'bots are allowed')
  if (source.userId === undefined || source.userId === '') return deny('no-user', 'the message names no user')
  if (rules.allowAllUsers) return allow('allow-all-users', 'the platform is open to all users')
  if (source.roleAuthorized === true) return allow('role', 'the user holds a role that may use the agent')

  const user = [source.userId, source.userIdAlt]
  if (isPaired(source, rules)) return allow('paired', 'an owner has approved the user')
  if (matchesAny(rules.allowFrom, user)) return allow('allow-from', 'the user is on the allow list')
  if (inGroup && matchesAny(rules.groupAllowFrom, user))
    return allow('group-allow-from', 'the user is on the allow list for groups')
  if (matchesAny(rules.gatewayAllowedUsers, user))
    return allow('gateway-allowed-users', 'the user is on the allow list of the gateway')
  if (rules.gatewayAllowAllUsers) return allow('gateway-allow-all-users', 'the gateway is open to all users')
  if (deniesEveryone(rules)) return deny('no-allow-list', 'no allow list is set, so every user is refused')
  return containsUserNames(source, rules)
    ? deny('names-listed', 'the user is on no allow list; it contains names, but only user ids count')
    : deny('not-listed', 'the user is on no allow list')
}

/** Detects a frequent mistake in allow lists, for the reason of a refusal. No platform has ids that begin with an @. */
function containsUserNames({ userName }: SessionSource, rules: AccessRules): boolean {
  const listed = [...rules.allowFrom, ...rules.groupAllowFrom, ...rules.gatewayAllowedUsers]
  return listed.some((entry) => entry.startsWith('@') || (entry !== '' && entry === userName))
}

/** Whether the rules refuse every user without an allowed role, which is worth a warning when the platform starts. */
export function deniesEveryone(rules: AccessRules): boolean {
  const lists = [rules.allowFrom, rules.groupAllowFrom, rules.groupAllowedChats, rules.gatewayAllowedUsers]
  const open = rules.access !== 'allowlist' || rules.allowAllUsers || rules.gatewayAllowAllUsers
  const hasPaired = rules.paired !== undefined && rules.paired.ids.size > 0
  return !open && !hasPaired && rules.allowBots === 'none' && lists.every((list) => list.length === 0)
}

/** A bot never pairs. */
function isPaired({ userId, userIdAlt, isBot }: SessionSource, { paired }: AccessRules): boolean {
  if (paired === undefined || isBot === true) return false
  return [userId, userIdAlt].some((id) => id !== undefined && id !== '' && paired.ids.has(id))
}

/** An empty id never matches, so an empty list entry allows no one. */
function matchesAny(list: readonly string[], ids: readonly (string | undefined)[]): boolean {
  if (list.includes('*')) return true
  return ids.some((id) => id !== undefined && id !== '' && list.includes(id))
}

function allow(rule: AccessRule, reason: string): RuleDecision {
  return { allowed: true, rule, reason }
}

function deny(rule: AccessRule, reason: string): RuleDecision {
  return { allowed: false, rule, reason }
}

/** The rules that say who is owner, member or guest on one account of a platform. */
export interface RoleRules {
  /** User ids of this platform, from `roles.owners`. */
  readonly owners: readonly string[]
  /** User ids of this platform, from `roles.members`; `*` for every user who has access. */
  readonly members: readonly string[]
  /** User ids of this platform, from `roles.guests`; `*` for every user who has access. */
  readonly guests: readonly string[]
  /** `extra.allow_admin_from`: owners in direct messages. */
  readonly adminFrom: readonly string[]
  /** `extra.group_allow_admin_from`: owners in groups. */
  readonly groupAdminFrom: readonly string[]
  /** `extra.user_allowed_commands` and `extra.group_user_allowed_commands`: commands for everybody else. */
  readonly userAllowedCommands: readonly string[]
  readonly groupUserAllowedCommands: readonly string[]
  /** Some list of the configuration names an owner. Without one, everybody who is allowed by id is an owner. */
  readonly hasOwners: boolean
  /** Roles of the platform in the lists of `roles`, as the adapter names them: `role:5`. Absent if there are none. */
  readonly platformRoles?: Readonly<Record<'owners' | 'members' | 'guests', readonly string[]>>
}

/** Whether the sender holds a role of the platform; undefined while that is not known. */
export type HeldRole = (name: string) => boolean | undefined

export interface RoleDecision {
  /** The role, whatever is not known. */
  readonly lowest: Role
  /** The role if every unknown answer is in favour of the sender. */
  readonly highest: Role
  /** Roles of the platform that would have to be known to decide. */
  readonly unknown: readonly string[]
}

/** From the lowest to the highest. A list of `roles` decides in this order. */
const ranks = ['guest', 'member', 'owner'] as const

export function lowerRole(a: Role, b: Role): Role {
  return ranks.indexOf(a) <= ranks.indexOf(b) ? a : b
}

/**
 * Decides the role of a sender who has access. A list of `roles` that names the user, or a platform role of the user,
 * decides; if several do, the lowest role. Otherwise an administrator is owner in the scope of the list, a user who is
 * paired is member, a user who is allowed by id is member or owner, and everybody else is a guest.
 */
export function decideRole(
  source: SessionSource,
  access: AccessRules,
  roles: RoleRules,
  held: HeldRole = () => undefined,
): RoleDecision {
  const user = [source.userId, source.userIdAlt]
  // A bot, and a message without a user, hold no role of the platform.
  const mayHold = source.isBot !== true && source.userId !== undefined
  const possible: Role[] = []
  const unknown: string[] = []
  const certain = (): Role => {
    if (access.access === 'token') return 'owner'
    for (const rank of ranks) {
      const list = `${rank}s` as const
      if (namesUser(roles[list], user)) return rank
      const asked = (mayHold && roles.platformRoles?.[list]) || []
      if (asked.some((name) => held(name) === true)) return rank
      const open = asked.filter((name) => held(name) === undefined)
      unknown.push(...open)
      if (open.length > 0) possible.push(rank)
    }
    return roleWithoutLists(source, access, roles)
  }
  const decided = certain()
  const all = [decided, ...possible].sort((a, b) => ranks.indexOf(a) - ranks.indexOf(b))
  const [lowest = decided, highest = decided] = [all[0], all.at(-1)]
  return { lowest, highest, unknown: lowest === highest ? [] : unknown }
}

function roleWithoutLists(source: SessionSource, access: AccessRules, roles: RoleRules): Role {
  const user = [source.userId, source.userIdAlt]
  if (namesUser(source.chatType === 'dm' ? roles.adminFrom : roles.groupAdminFrom, user)) return 'owner'
  if (isPaired(source, access)) return 'member'
  if (namesUser(access.allowFrom, user) || namesUser(access.gatewayAllowedUsers, user))
    return roles.hasOwners || access.paired?.isDamaged === true ? 'member' : 'owner'
  return roles.members.includes('*') && !roles.guests.includes('*') && source.isBot !== true ? 'member' : 'guest'
}

/** Matches like `matchesAny`, without `*`: a user who is let in with everybody else is not known. */
function namesUser(list: readonly string[], ids: readonly (string | undefined)[]): boolean {
  return ids.some((id) => id !== undefined && id !== '' && id !== '*' && list.includes(id))
}

/** The authority of a sender with this role. */
export function authorityWith(role: Role, source: SessionSource): Authority {
  const { platform, account, chatId, chatType, userId, parentChatId, isBot, roleAuthorized, userIdAlt } = source
  return {
    role,
    platform,
    account,
    chatId,
    chatType,
    userId,
    parentChatId,
    ...(isBot === true ? { isBot } : {}),
    ...(roleAuthorized === true ? { roleAuthorized } : {}),
    userIdAlt,
  }
}

/** An event, with the person on whose behalf the gateway has caused it. */
export interface CausedEvent extends EventOrigin {
  readonly source: SessionSource
  readonly authority?: Authority | undefined
}

/** The person who has caused an event; undefined where that is not known. */
export function requesterOf({ internal, source, authority }: CausedEvent): SessionSource | undefined {
  if (internal !== true) return source
  if (authority === undefined) return undefined
  const { role: _, account = 'default', chatId = '', ...person } = authority
  return { ...person, account, chatId }
}
