/**
 * From the checked config to the accounts that the supervisor connects: which are on, which are off and why, and who
 * may reach each.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AccessRules } from '../inbox/access.ts'
import { type AccountSettings, gatewaySettingsSchema, platformSettingsSchema } from './config.ts'
import type { InstalledPlatform } from './registry.ts'

export interface PlatformAccount {
  readonly platform: InstalledPlatform
  /** `default`, or the name under `accounts`. */
  readonly account: string
  /** What the adapter gets: its own options, `allow_bots` and `extra`. */
  readonly options: Readonly<Record<string, unknown>>
  readonly access: AccessRules
  readonly policy: AccountPolicy
  /** Where messages go that belong to no chat. */
  readonly homeChannel?: { readonly chatId: string; readonly name?: string; readonly threadId?: string }
  /**
   * `off`: not wanted; `begun` where somebody has set a part of what it needs. `unusable`: wanted, but something it needs
   * is missing or taken. Absent: to be connected.
   */
  readonly blocked?: { readonly kind: 'off' | 'unusable'; readonly reason: string; readonly begun?: true }
}

/** How the gateway behaves on an account, whatever its platform. */
export interface AccountPolicy {
  readonly edits: 'ignore' | 'amend' | 'rerun'
  readonly replyTo: 'off' | 'first' | 'all'
  readonly typing: boolean
}

export interface AccountsConfig {
  /** Sections by platform name, as `platformConfig` checked them. */
  readonly platforms: Readonly<Record<string, unknown>>
  readonly gateway: unknown
  /** Keys of accounts that are not there because a variable is not set. None if left out. */
  readonly unresolved?: readonly UnresolvedSetting[]
}

interface UnresolvedSetting {
  /** `platforms`, the platform, perhaps `accounts` and a name, and the key. */
  readonly path: readonly (string | number)[]
  readonly reason: string
}

/** Every account of every platform, those that are off too. Throws (ZodError) only for a config that was not checked. */
export function platformAccounts(platforms: readonly InstalledPlatform[], config: AccountsConfig): PlatformAccount[] {
  const gateway = gatewaySettingsSchema.parse(config.gateway ?? {})
  return platforms.flatMap((platform) => {
    const base = platformSettingsSchema.parse(config.platforms[platform.name] ?? {})
    const gaps = (config.unresolved ?? []).filter(({ path }) => path[1] === platform.name)
    const names = accountNames(platform, base, gaps)
    const all = names.map((account) => toAccount(platform, account, base, gateway, gaps))
    return all.map((account, index) => withoutDuplicateCredentials(account, all.slice(0, index)))
  })
}

/** Two connections with one token would fight over the messages: the first account keeps it. */
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

/** A required secret that both have. With different names beside it (a number, a login) they are two identities. */
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
type GatewaySettings = ReturnType<typeof gatewaySettingsSchema.parse>

/** The platform's own keys make the account `default`; beside named accounts it exists when it has credentials. */
function accountNames(
  { accounts, required }: InstalledPlatform,
  base: PlatformSettings,
  gaps: readonly UnresolvedSetting[],
): string[] {
  const named = accounts ? Object.keys(base.accounts ?? {}) : []
  const absent = findMissing(required, base).filter((key) => gaps.every(({ path }) => path[2] !== key))
  const complete = required.length > 0 && absent.length === 0
  return named.length === 0 || (complete && !named.includes('default')) ? ['default', ...named] : named
}

function toAccount(
  platform: InstalledPlatform,
  account: string,
  base: PlatformSettings,
  gateway: GatewaySettings,
  gaps: readonly UnresolvedSetting[],
): PlatformAccount {
  const own: AccountSettings | undefined = base.accounts?.[account]
  const settings = { ...inheritedSettings(platform, account, base), ...own }
  const home = settings.home_channel
  const unresolvedHere = gaps.filter(({ path }) => appliesToAccount(path, platform, account, own))
  const blocked = blockReason(platform, base, own, settings, unresolvedHere)
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
      gatewayAllowedUsers: gateway.allowed_users,
      gatewayAllowAllUsers: gateway.allow_all_users,
    },
    policy: {
      edits: settings.edits ?? 'amend',
      replyTo: settings.reply_to_mode ?? 'first',
      typing: settings.typing_indicator ?? true,
    },
    ...(home === undefined ? {} : { homeChannel: toHomeChannel(home) }),
    ...(blocked === undefined ? {} : { blocked }),
  }
}

/** Credentials are not inherited: two accounts with one token would be one bot twice. */
function inheritedSettings(platform: InstalledPlatform, account: string, base: PlatformSettings): PlatformSettings {
  if (account === 'default') return base
  return Object.fromEntries(Object.entries(base).filter(([key]) => !platform.required.includes(key)))
}

/** A key of the account itself, or one of its platform that it would inherit. */
function appliesToAccount(
  path: UnresolvedSetting['path'],
  { required }: InstalledPlatform,
  account: string,
  own: AccountSettings | undefined,
): boolean {
  const key = String(path[2])
  if (key === 'accounts') return path[3] === account
  return own?.[key] === undefined && (account === 'default' || !required.includes(key))
}

/** An explicit `false` beats credentials; credentials beat silence. */
function blockReason(
  platform: InstalledPlatform,
  base: PlatformSettings,
  own: AccountSettings | undefined,
  settings: AccountSettings,
  gaps: readonly UnresolvedSetting[],
): PlatformAccount['blocked'] {
  if (base.enabled === false || own?.enabled === false) return { kind: 'off', reason: 'switched off in the config' }
  const missingKeys = findMissing(platform.required, settings)
  const hasCredentials = platform.required.length > 0 && missingKeys.length === 0
  // Somebody meant to switch it on, or to give it its credentials.
  const isIntended = gaps.some(({ path }) => ['enabled', ...platform.required].includes(String(path.at(-1))))
  const wanted = settings.enabled ?? (own !== undefined || platform.defaultEnabled || hasCredentials || isIntended)
  const notSet = `not set: ${missingKeys.map((key) => optionName(platform, key)).join(', ')}`
  if (!wanted && isPartiallyConfigured(platform, settings))
    return { kind: 'off', reason: `off, ${notSet}`, begun: true }
  if (!wanted) return { kind: 'off', reason: 'not configured' }
  // Also where it could do without the key: a list of people or a proxy that is left out makes it another account.
  if (gaps.length > 0) return { kind: 'unusable', reason: gaps.map(({ reason }) => reason).join('; ') }
  return missingKeys.length === 0 ? undefined : { kind: 'unusable', reason: notSet }
}

/** A second token or a list of people is set, so the first token was forgotten, or its name is not the right one. */
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
  const values: Record<string, unknown> = { allow_bots: settings.allow_bots ?? 'none', extra: settings.extra ?? {} }
  for (const { key } of platform.options) if (settings[key] !== undefined) values[key] = settings[key]
  return values
}

function toHomeChannel(home: HomeChannelSetting): NonNullable<PlatformAccount['homeChannel']> {
  const { chat_id: chatId, name, thread_id: threadId } = home
  return { chatId, ...(name === undefined ? {} : { name }), ...(threadId === undefined ? {} : { threadId }) }
}
