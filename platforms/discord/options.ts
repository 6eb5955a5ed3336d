/**
 * The settings of one account, read from what the gateway has checked against plugin.yaml.
 */
import { HermesError } from '#sdk'
import { asObject, isObject, type Json } from './wire.ts'

export interface Options {
  readonly token: string
  /** Where the REST API is, without its version. */
  readonly apiUrl: string
  /** The operator has named another API than Discord's own: what lies at its origin may be in a private network. */
  readonly ownApi: boolean
  readonly requireMention: boolean
  readonly freeResponseChannels: readonly string[]
  readonly allowedChannels: readonly string[]
  readonly ignoredChannels: readonly string[]
  readonly autoThread: boolean
  readonly noThreadChannels: readonly string[]
  readonly allowedRoles: readonly string[]
  readonly reactions: boolean
  readonly mentions: AllowedMentions
  readonly allowBots: 'none' | 'mentions' | 'all'
}

/** Whom a message of ours may notify. */
export interface AllowedMentions {
  readonly everyone: boolean
  readonly roles: boolean
  readonly users: boolean
  readonly repliedUser: boolean
}

const discordApi = 'https://discord.com/api'

/** What is not set has its default. Throws `config/invalid` for a token that cannot be one. */
export function readOptions(given: Json): Options {
  const token = String(given['token'] ?? '').trim()
  if (/^Bot\s/i.test(token)) {
    const told =
      'platforms.discord.token: it begins with "Bot "; give the token alone, as the Developer Portal shows it.'
    throw new HermesError('config/invalid', told)
  }
  const mentions = asObject(given['allow_mentions'])
  const apiUrl = String(given['api_url'] ?? '').replace(/\/+$/, '')
  return {
    token,
    apiUrl: apiUrl === '' ? discordApi : apiUrl,
    ownApi: apiUrl !== '' && apiUrl !== discordApi,
    requireMention: flag(given, 'require_mention', true),
    freeResponseChannels: ids(given, 'free_response_channels'),
    allowedChannels: ids(given, 'allowed_channels'),
    ignoredChannels: ids(given, 'ignored_channels'),
    autoThread: flag(given, 'auto_thread', true),
    noThreadChannels: ids(given, 'no_thread_channels'),
    allowedRoles: ids(given, 'allowed_roles'),
    reactions: flag(given, 'reactions', false),
    mentions: {
      everyone: flag(mentions, 'everyone', false),
      roles: flag(mentions, 'roles', false),
      users: flag(mentions, 'users', true),
      repliedUser: flag(mentions, 'replied_user', true),
    },
    allowBots: given['allow_bots'] === 'mentions' || given['allow_bots'] === 'all' ? given['allow_bots'] : 'none',
  }
}

function flag(of: Json, key: string, otherwise: boolean): boolean {
  const value = isObject(of) ? of[key] : undefined
  return typeof value === 'boolean' ? value : otherwise
}

function ids(of: Json, key: string): readonly string[] {
  const value = of[key]
  return Array.isArray(value) ? value.map(String) : []
}
