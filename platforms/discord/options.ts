/**
 * The settings of one account, read from what the gateway has checked against plugin.yaml.
 */
import { HermesError } from '#sdk'
import { asRecord, isRecord, type JsonRecord } from './inbound/payload.ts'

export interface DiscordOptions {
  readonly token: string
  /** Where the REST API is, without its version. */
  readonly apiUrl: string
  /** The operator has named another API than Discord's own: what lies at its origin may be in a private network. */
  readonly usesOwnApi: boolean
  readonly requireMention: boolean
  readonly freeResponseChannels: readonly string[]
  readonly allowedChannels: readonly string[]
  readonly ignoredChannels: readonly string[]
  readonly autoThread: boolean
  readonly noThreadChannels: readonly string[]
  readonly allowedRoles: readonly string[]
  readonly reactions: boolean
  readonly allowedMentions: AllowedMentions
  readonly allowBots: 'none' | 'mentions' | 'all'
}

/** Whom a message of ours may notify. */
export interface AllowedMentions {
  readonly everyone: boolean
  readonly roles: boolean
  readonly users: boolean
  readonly repliedUser: boolean
}

const defaultApiUrl = 'https://discord.com/api'

/** What is not set has its default. Throws `config/invalid` for a token that cannot be one. */
export function parseOptions(given: JsonRecord): DiscordOptions {
  const token = String(given['token'] ?? '').trim()
  if (/^Bot\s/i.test(token)) {
    const told =
      'platforms.discord.token: it begins with "Bot "; give the token alone, as the Developer Portal shows it.'
    throw new HermesError('config/invalid', told)
  }
  const mentions = asRecord(given['allow_mentions'])
  const apiUrl = String(given['api_url'] ?? '').replace(/\/+$/, '')
  return {
    token,
    apiUrl: apiUrl === '' ? defaultApiUrl : apiUrl,
    usesOwnApi: apiUrl !== '' && apiUrl !== defaultApiUrl,
    requireMention: booleanOption(given, 'require_mention', true),
    freeResponseChannels: idListOption(given, 'free_response_channels'),
    allowedChannels: idListOption(given, 'allowed_channels'),
    ignoredChannels: idListOption(given, 'ignored_channels'),
    autoThread: booleanOption(given, 'auto_thread', true),
    noThreadChannels: idListOption(given, 'no_thread_channels'),
    allowedRoles: idListOption(given, 'allowed_roles'),
    reactions: booleanOption(given, 'reactions', false),
    allowedMentions: {
      everyone: booleanOption(mentions, 'everyone', false),
      roles: booleanOption(mentions, 'roles', false),
      users: booleanOption(mentions, 'users', true),
      repliedUser: booleanOption(mentions, 'replied_user', true),
    },
    allowBots: given['allow_bots'] === 'mentions' || given['allow_bots'] === 'all' ? given['allow_bots'] : 'none',
  }
}

function booleanOption(of: JsonRecord, key: string, otherwise: boolean): boolean {
  const value = isRecord(of) ? of[key] : undefined
  return typeof value === 'boolean' ? value : otherwise
}

function idListOption(of: JsonRecord, key: string): readonly string[] {
  const value = of[key]
  return Array.isArray(value) ? value.map(String) : []
}
