/**
 * Derives the accounts from the validated configuration: which are enabled, why the others are not, and who has access to
 * each.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AccessRules, RoleRules } from '../inbox/access.ts'
import type { Target } from '../message/source.ts'
import {
  type AccountSettings,
  gatewaySettingsSchema,
  isPlatformRole,
  platformSettingsSchema,
  type RoleSettings,
  rolesSchema,
} from './config.ts'
import type { InstalledPlatform } from './registry.ts'

export interface PlatformAccount {
  readonly platform: InstalledPlatform
  /** `default`, or the name under `accounts`. */
  readonly account: string
  /** The options of the adapter, `allow_bots`, `file_hosts` and `extra`. */
  readonly options: Readonly<Record<string, unknown>>
  readonly access: AccessRules
  readonly roles: RoleRules
  readonly policy: AccountPolicy
  /** The home channel is not told of restarts. */
  readonly silentRestarts?: true
  /** The chat for messages that belong to no other chat. */
  readonly homeChannel?: (Pick<Target, 'chatId' | 'threadId'> & { readonly name?: string | undefined }) | undefined
  /**
   * `off`: not enabled; `begun` when some of its settings are present. `unusable`: enabled, but a required setting is
   * missing or used by another account. Absent: the account is connected.
   */
  readonly blocked?: { readonly kind: 'off' | 'unusable'; readonly reason: string; readonly begun?: true } | undefined
}

/** Settings of an account that the gateway itself applies, on every platform. */
export interface AccountPolicy {
  readonly edits: 'ignore' | 'amend' | 'rerun'
  readonly replyTo: 'off' | 'first' | 'all'
  readonly typing: boolean
  /** Origins from which files are downloaded even if they are private. */
  readonly fileHosts: readonly string[]
  /** What a person without access gets in a direct message: a pairing code, or nothing. */
  readonly unauthorizedDm: 'pair' | 'ignore'
  /** Texts for the model, by the id of a chat or of a thread. */
  readonly channelPrompts?: Readonly<Record<string, string>> | undefined
  /** The model of the platform, and that of single chats or threads, by their ids. Absent: the configured one everywhere. */
  readonly models?: PlatformModels
}

export interface PlatformModels extends ModelOverride {
  readonly channels: Readonly<Record<string, ModelOverride & { readonly system_prompt?: string | undefined }>>
}

/** What is absent is that of the next level. */
export interface ModelOverride {
  readonly model?: string | undefined
  readonly provider?: string | undefined
}

export interface AccountsConfig {
  /** Sections by platform name, validated by `platformConfig`. */
  readonly platforms: Readonly<Record<string, unknown>>
  readonly gateway: unknown
  readonly roles?: unknown
  /** Keys of accounts without a value, because their variable is not set. */
  readonly unusable?: readonly UnusableSetting[]
}

interface UnusableSetting {
  /** `platforms`, the platform, then optionally `accounts` and a name, then the key. */
  readonly path: readonly (string | number)[]
  readonly reason: string
}

/** All accounts, including disabled ones. Throws a ZodError only for a configuration that was not validated. */
export function platformAccounts(platforms: readonly InstalledPlatform[], config: AccountsConfig): PlatformAccount[] {
  const gateway = gatewaySettingsSchema.parse(config.gateway ?? {})
  const roles = rolesSchema.parse(config.roles ?? {})
  const sections = platforms.map((platform) => ({
    platform,
    base: platformSettingsSchema.parse(config.platforms[platform.name] ?? {}),
  }))
  const general = {
    gateway,
    roles,
    hasOwners: roles.owners.length > 0 || sections.some(({ base }) => namesOwner(base)),
  }
  return sections.flatMap(({ platform, base }) => {
    const unusable = (config.unusable ?? []).filter(({ path }) => path[1] === platform.name)
    const names = accountNames(platform, base, unusable)
    const all = names.map((account) => toAccount(platform, account, base, general, unusable))
    return all.map((account, index) => withoutDuplicateCredentials(account, all.slice(0, index)))
  })
}

/** Two connections with one token would compete for the messages, so only the first account may use it. */
function withoutDuplicateCredentials(account: PlatformAccount, earlier: readonly PlatformAccount[]): PlatformAccount {
  if (account.blocked !== undefined) return account
  for (const other of earlier) {
    const key = other.blocked === undefined ? sharedCredential(account, other) : undefined
    if (key === undefined) continue
    const reason = `the same ${key} as account ${other.account}; each account needs its own`
    return { ...account, blocked: { kind: 'unusable', reason } }
  }
  return account
}

/**
 * The required secret that two accounts share. Accounts that differ in another required option (a number, a login) are two
 * identities.
 */
function sharedCredential({ platform, options }: PlatformAccount, other: PlatformAccount): string | undefined {
  const same = ({ key }: { readonly key: string }) => isDeepStrictEqual(options[key], other.options[key])
  const needed = platform.options.filter(({ key }) => platform.required.includes(key))
  if (!needed.filter(({ secret }) => !secret).every(same)) return undefined
  return needed.filter(({ secret }) => secret).find(same)?.key
}

type PlatformSettings = ReturnType<typeof platformSettingsSchema.parse>
type HomeChannelSetting = {
  readonly chat_id: string
  readonly name?: string | undefined
  readonly thread_id?: string | undefined
}

/** Settings for all platforms. */
interface GeneralSettings {
  readonly gateway: ReturnType<typeof gatewaySettingsSchema.parse>
  readonly roles: RoleSettings
  readonly hasOwners: boolean
}

/** Whether the section or one of its accounts has a list of administrators. */
function namesOwner({ extra, accounts }: PlatformSettings): boolean {
  return [extra, ...Object.values(accounts ?? {}).map((account) => account.extra)].some(
    (accountSettings) =>
      (accountSettings?.allow_admin_from?.length ?? 0) + (accountSettings?.group_allow_admin_from?.length ?? 0) > 0,
  )
}

/** The user ids and platform roles of one platform in a list of `<platform>:<user id>`. */
function entriesOf(list: readonly string[], platform: string): string[] {
  return list.filter((entry) => entry.startsWith(`${platform}:`)).map((entry) => entry.slice(platform.length + 1))
}

function roleRules(
  { roles, hasOwners }: GeneralSettings,
  platform: InstalledPlatform,
  { extra }: AccountSettings,
): RoleRules {
  const entries = {
    owners: entriesOf(roles.owners, platform.name),
    members: entriesOf(roles.members, platform.name),
    guests: entriesOf(roles.guests, platform.name),
  }
  const isRole = (entry: string) => isPlatformRole(entry, platform)
  const hasRoles = platform.userRoles !== undefined && Object.values(entries).some((list) => list.some(isRole))
  const select = (wanted: (entry: string) => boolean) => ({
    owners: entries.owners.filter(wanted),
    members: entries.members.filter(wanted),
    guests: entries.guests.filter(wanted),
  })
  return {
    ...(hasRoles ? { ...select((entry) => !isRole(entry)), platformRoles: select(isRole) } : entries),
    adminFrom: extra?.allow_admin_from ?? [],
    groupAdminFrom: extra?.group_allow_admin_from ?? [],
    userAllowedCommands: extra?.user_allowed_commands ?? [],
    groupUserAllowedCommands: extra?.group_user_allowed_commands ?? [],
    hasOwners,
  }
}

/** The platform's own keys form the account `default`. With named accounts it exists only if it has credentials. */
function accountNames(
  { accounts, required }: InstalledPlatform,
  base: PlatformSettings,
  unusable: readonly UnusableSetting[],
): string[] {
  const named = accounts ? Object.keys(base.accounts ?? {}) : []
  const absent = findMissing(required, base).filter((key) => unusable.every(({ path }) => path[2] !== key))
  const complete = required.length > 0 && absent.length === 0
  return named.length === 0 || (complete && !named.includes('default')) ? ['default', ...named] : named
}

function toAccount(
  platform: InstalledPlatform,
  account: string,
  base: PlatformSettings,
  general: GeneralSettings,
  unusable: readonly UnusableSetting[],
): PlatformAccount {
  const accountSettings: AccountSettings | undefined = base.accounts?.[account]
  const settings = { ...inheritedSettings(platform, account, base), ...accountSettings }
  const home = settings.home_channel
  const ownUnusable = unusable.filter(({ path }) => appliesToAccount(path, platform, account, accountSettings))
  const blocked = blockReason(platform, base, accountSettings, settings, ownUnusable)
  return {
    platform,
    account,
    options: optionsOf(platform, settings),
    access: {
      access: platform.access,
      allowFrom: settings.allow_from ?? [],
      groupAllowFrom: settings.group_allow_from ?? [],
      groupAllowedChats: settings.group_allowed_chats ?? [],
      allowAllUsers: settings.allow_all_users ?? false,
      allowBots: settings.allow_bots ?? 'none',
      gatewayAllowedUsers: general.gateway.allowed_users,
      gatewayAllowAllUsers: general.gateway.allow_all_users,
    },
    roles: roleRules(general, platform, settings),
    policy: {
      edits: settings.edits ?? 'amend',
      replyTo: settings.reply_to_mode ?? 'first',
      typing: settings.typing_indicator ?? true,
      fileHosts: settings.file_hosts ?? [],
      unauthorizedDm: settings.unauthorized_dm_behavior ?? general.gateway.unauthorized_dm_behavior,
      channelPrompts: settings.channel_prompts ?? settings.extra?.channel_prompts,
      ...modelsOf(settings),
    },
    ...(settings.gateway_restart_notification === false ? { silentRestarts: true } : {}),
    homeChannel: home === undefined ? undefined : toHomeChannel(home, settings.home_channel_name),
    blocked,
  }
}

function modelsOf({ model, provider, channel_overrides: channels }: AccountSettings): Pick<AccountPolicy, 'models'> {
  const isUnset = model === undefined && provider === undefined && channels === undefined
  return isUnset ? {} : { models: { model, provider, channels: channels ?? {} } }
}

/** Credentials are not inherited, because two accounts with one token would be the same bot. */
function inheritedSettings(platform: InstalledPlatform, account: string, base: PlatformSettings): PlatformSettings {
  if (account === 'default') return base
  return Object.fromEntries(Object.entries(base).filter(([key]) => !platform.required.includes(key)))
}

/** Whether the key belongs to the account, or to its platform and is inherited. */
function appliesToAccount(
  path: UnusableSetting['path'],
  { required }: InstalledPlatform,
  account: string,
  accountSettings: AccountSettings | undefined,
): boolean {
  const key = String(path[2])
  if (key === 'accounts') return path[3] === account
  return accountSettings?.[key] === undefined && (account === 'default' || !required.includes(key))
}

/** An explicit `enabled: false` takes precedence over credentials. Without `enabled`, credentials enable the account. */
function blockReason(
  platform: InstalledPlatform,
  base: PlatformSettings,
  accountSettings: AccountSettings | undefined,
  settings: AccountSettings,
  unusable: readonly UnusableSetting[],
): PlatformAccount['blocked'] {
  if (base.enabled === false || accountSettings?.enabled === false)
    return { kind: 'off', reason: 'disabled in the configuration' }
  const missingKeys = findMissing(platform.required, settings)
  const hasCredentials = platform.required.length > 0 && missingKeys.length === 0
  // An unset variable in `enabled` or in a credential shows that the account is meant to be enabled.
  const isIntended = unusable.some(({ path }) => ['enabled', ...platform.required].includes(String(path.at(-1))))
  const isEnabled =
    settings.enabled ?? (accountSettings !== undefined || platform.defaultEnabled || hasCredentials || isIntended)
  const notSet = `not set: ${missingKeys.map((key) => optionName(platform, key)).join(', ')}`
  if (!isEnabled && isPartiallyConfigured(platform, settings))
    return { kind: 'off', reason: `off, ${notSet}`, begun: true }
  if (!isEnabled) return { kind: 'off', reason: 'not configured' }
  // An optional key counts too: without its allow list or its proxy the account would behave differently.
  if (unusable.length > 0) return { kind: 'unusable', reason: unusable.map(({ reason }) => reason).join('; ') }
  return missingKeys.length === 0 ? undefined : { kind: 'unusable', reason: notSet }
}

/** Another secret or an allow list is set, so the required credential was probably forgotten or misspelt. */
function isPartiallyConfigured({ options, required }: InstalledPlatform, settings: AccountSettings): boolean {
  const indicativeKeys = ['allow_from', ...options.filter(({ secret }) => secret).map(({ key }) => key)]
  return required.length > 0 && findMissing(indicativeKeys, settings).length < indicativeKeys.length
}

function findMissing(required: readonly string[], settings: AccountSettings): string[] {
  return required.filter((key) => settings[key] === undefined || settings[key] === null || settings[key] === '')
}

function optionName({ name, environment }: InstalledPlatform, key: string): string {
  const variable = environment.find((option) => option.key === key)?.variable
  return `platforms.${name}.${key}${variable === undefined ? '' : ` (or ${variable})`}`
}

function optionsOf(platform: InstalledPlatform, settings: AccountSettings): Record<string, unknown> {
  const values: Record<string, unknown> = {
    allow_bots: settings.allow_bots ?? 'none',
    extra: settings.extra ?? {},
    ...(settings.file_hosts === undefined ? {} : { file_hosts: settings.file_hosts }),
  }
  for (const { key } of platform.options) if (settings[key] !== undefined) values[key] = settings[key]
  return values
}

function toHomeChannel(
  home: HomeChannelSetting,
  otherName: string | undefined,
): NonNullable<PlatformAccount['homeChannel']> {
  const { chat_id: chatId, name = otherName, thread_id: threadId } = home
  return { chatId, name, threadId }
}
