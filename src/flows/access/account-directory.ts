/**
 * The accounts of all platforms: who may write to them, how they behave, which session a message belongs to, and through which adapter
 * they are reached.
 */

import {
  authorityWith,
  type CausedEvent,
  decideAccess,
  decideRole,
  deniesEveryone,
  lowerRole,
  type RoleDecision,
  type RoleRules,
  requesterOf,
} from '../../inbox/access.ts'
import type { Accounts } from '../../inbox/accounts.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionSource } from '../../message/source.ts'
import type { PairedPeople } from '../../pairing/pairing.ts'
import {
  type AccountPolicy,
  type AccountsConfig,
  type PlatformAccount,
  platformAccounts,
} from '../../platforms/accounts.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import type { InstalledPlatform, PlatformCatalogue } from '../../platforms/registry.ts'
import type { SessionsConfig } from '../../sessions/config.ts'
import { isSharedSession, type SessionKeyRules, sessionKeyOf } from '../../sessions/session-key.ts'
import type { PlatformRoles } from './platform-roles.ts'

export interface AccountDirectory extends Accounts {
  /** Whether the platform has its gateway events emitted. False for background tasks. */
  emitsEvents(source: Pick<SessionSource, 'platform'>): boolean
  list(): readonly PlatformAccount[]
  /** Reads the accounts again after the configuration has changed, and warns about those that admit no user. */
  refresh(): readonly PlatformAccount[]
  /** Replaces the list of people whom an owner has approved. */
  setPaired(people: PairedPeople): void
  platform(name: string): InstalledPlatform | undefined
  /** What fits into one message of this platform. */
  limitsOf(platform: string): InstalledPlatform['limits'] | undefined
  /** Whether the person who has caused an event has lost the access. False where nothing is known about the person. */
  isRevoked(event: CausedEvent): boolean
  /** The authority that was stored with an event, lowered where the configuration now permits less. */
  lowerAuthority(authority: Authority, event: Pick<MessageEvent, 'source' | 'internal'>): Authority
  /** The lists of the account that limit commands; undefined for an account that is not configured. */
  commandTiersOf(source: SessionSource): RoleRules | undefined
  /** How the gateway behaves on an account; the defaults for an account that is not configured. */
  policyOf(of: AccountAddress): AccountPolicy
  /** Undefined while the account is not connected. */
  adapter(of: AccountAddress): PlatformAdapter | undefined
  /** Called when an account is connected, and with undefined when it is not any more. */
  setAdapter(of: AccountAddress, adapter: PlatformAdapter | undefined): void
  /** `<platform>_<chat_type>`, or the route of a background task. */
  routeOf(event: Routed): string
  /** Works like `routeOf`; '' on the command line, the platform without gateway events (seed 003). */
  pluginRouteOf(event: Routed): string
}

type AccountAddress = Pick<SessionSource, 'platform' | 'account'>

type Routed = Pick<MessageEvent, 'source' | 'task'>

export interface AccountDirectoryDeps {
  readonly catalogue: PlatformCatalogue
  readonly settings: () => Pick<SessionsConfig, 'group_sessions_per_user' | 'thread_sessions_per_user'> &
    Pick<AccountsConfig, 'platforms' | 'gateway' | 'roles'>
  /** Settings that are missing because a variable is not set. */
  readonly unusableSettings: () => NonNullable<AccountsConfig['unusable']>
  /** The configuration is invalid and the defaults are in use. */
  readonly usesDefaultsAfterFailure: () => boolean
  readonly log: Logger
  /** The profile in the session keys (contract §3.3). */
  readonly profile: string
  /** Whether this process works on the conversations of a platform. */
  serves(platform: string): boolean
  readonly clock: () => number
  /** At the start. */
  readonly paired?: PairedPeople | undefined
}

const defaultPolicy: AccountPolicy = {
  edits: 'amend',
  replyTo: 'first',
  typing: false,
  fileHosts: [],
  unauthorizedDm: 'ignore',
}

export function createAccountDirectory(deps: AccountDirectoryDeps): AccountDirectory {
  const { catalogue, settings } = deps
  const installed = new Map(catalogue.platforms.map((platform) => [platform.name, platform]))
  let paired = deps.paired
  let accounts = readAccounts(deps, paired)
  let platformRoles: PlatformRoles | undefined
  /** The adapters of the accounts that are connected. */
  const adapters = new Map<string, PlatformAdapter>()
  warnAboutEmptyAllowLists(accounts, deps.log)

  function accountOf({ platform, account }: AccountAddress): PlatformAccount | undefined {
    return accounts.find((candidate) => candidate.platform.name === platform && candidate.account === account)
  }

  function adapter({ platform, account }: AccountAddress): PlatformAdapter | undefined {
    return adapters.get(`${platform}:${account}`)
  }

  function policyOf(of: AccountAddress): AccountPolicy {
    return accountOf(of)?.policy ?? defaultPolicy
  }

  function keyRules(source: SessionSource): SessionKeyRules {
    const { group_sessions_per_user, thread_sessions_per_user } = settings()
    return {
      groupSessionsPerUser: group_sessions_per_user,
      threadSessionsPerUser: thread_sessions_per_user,
      scoped: installed.get(source.platform)?.sessionScope === 'scope_id',
    }
  }

  function decisionOf(source: SessionSource): RoleDecision {
    const account = accountOf(source)
    if (account === undefined) return { lowest: 'guest', highest: 'guest', unknown: [] }
    return decideRole(source, account.access, account.roles, (name) => platformRoles?.holds(source, name))
  }

  function authorityOf(source: SessionSource): Authority {
    return authorityWith(decisionOf(source).lowest, source)
  }

  async function lookUp(source: SessionSource): Promise<Authority> {
    const { createPlatformRoles } = await import('./platform-roles.ts')
    platformRoles ??= createPlatformRoles({ adapter, clock: deps.clock, log: deps.log })
    await platformRoles.lookUp(source, decisionOf(source).unknown)
    return authorityOf(source)
  }

  return {
    list: () => accounts,
    refresh() {
      accounts = readAccounts(deps, paired)
      warnAboutEmptyAllowLists(accounts, deps.log)
      return accounts
    },
    setPaired(people) {
      paired = people
      accounts = withPaired(accounts, people)
    },
    platform: (name) => installed.get(name),
    limitsOf: (platform) => installed.get(platform)?.limits,
    access({ source, internal }) {
      const account = accountOf(source)
      if (account === undefined) return { allowed: false, reason: 'the account is not configured' }
      return decideAccess(source, { internal }, account.access)
    },
    authorityOf,
    lookUpAuthority(source) {
      const { lowest, unknown } = decisionOf(source)
      return unknown.length === 0 ? authorityWith(lowest, source) : lookUp(source)
    },
    isRevoked(event) {
      const person = requesterOf(event)
      const account = person === undefined ? undefined : accountOf(person)
      return person !== undefined && account !== undefined && !decideAccess(person, {}, account.access).allowed
    },
    lowerAuthority(authority, { source, internal }) {
      // What the gateway itself causes is stored with the person on whose behalf it acts.
      const { chatId = '', platform, account = 'default' } = authority
      const person = internal === true ? { ...authority, platform, account, chatId } : source
      // An account that is not configured says nothing about a person; an owner may have no user id, as in the terminal.
      if (authority.role === 'guest' || accountOf(person) === undefined) return authority
      const role = lowerRole(authority.role, decisionOf(person).highest)
      return role === authority.role ? authority : { ...authority, role }
    },
    commandTiersOf: (source) => accountOf(source)?.roles,
    policyOf,
    editPolicyOf: (source) => policyOf(source).edits,
    sessionKey: (source) => sessionKeyOf({ ...source, profile: deps.profile }, keyRules(source)),
    isShared: (source) => isSharedSession(source, keyRules(source)),
    emitsEvents: ({ platform }) => installed.get(platform)?.gatewayEvents === true,
    adapter,
    setAdapter({ platform, account }, connected) {
      const key = `${platform}:${account}`
      if (connected === undefined) adapters.delete(key)
      else adapters.set(key, connected)
    },
    routeOf,
    pluginRouteOf: (event) => (installed.get(event.source.platform)?.gatewayEvents === false ? '' : routeOf(event)),
  }
}

function routeOf({ source, task }: Routed): string {
  return task?.route ?? `${source.platform}_${source.chatType}`
}

/** With an unusable configuration only the web page and the terminal stay, so that the owner can repair it. */
function readAccounts(deps: AccountDirectoryDeps, paired: PairedPeople | undefined): PlatformAccount[] {
  const { catalogue, serves } = deps
  const { platforms, gateway, roles } = deps.settings()
  const chosen = catalogue.platforms.filter(({ name }) => serves(name))
  const known = platformAccounts(chosen, { platforms, gateway, roles, unusable: deps.unusableSettings() })
  const all = paired === undefined ? known : withPaired(known, paired)
  return deps.usesDefaultsAfterFailure() ? all.filter(({ platform }) => platform.access === 'token') : all
}

function withPaired(accounts: readonly PlatformAccount[], { users, damaged }: PairedPeople): PlatformAccount[] {
  return accounts.map((account) => {
    const { name } = account.platform
    const paired = { ids: users.get(name) ?? new Set<string>(), isDamaged: damaged === 'all' || damaged.has(name) }
    return { ...account, access: { ...account.access, paired } }
  })
}

function warnAboutEmptyAllowLists(accounts: readonly PlatformAccount[], log: Logger): void {
  for (const { platform, account, blocked, access } of accounts) {
    if (blocked !== undefined || !deniesEveryone(access)) continue
    const fields = { platform: platform.name, account, setting: `platforms.${platform.name}.allow_from` }
    log.warn(
      { event: 'account.allow_list_empty', ...fields },
      'no user may write to this account yet; set allow_from, or approve people with hermes pairing',
    )
  }
}
