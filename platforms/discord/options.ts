/**
 * The options of one account. The gateway has validated them against `config_schema` of plugin.yaml.
 */
import { HermesError } from '#sdk'
import { asRecord, type JsonRecord } from './inbound/payload.ts'

export interface DiscordOptions {
  readonly token: string
  /** Base URL of the REST API, without its version. */
  readonly apiUrl: string
  /** The operator configured another API than Discord's. Files at its origin may be in a private network. */
  readonly usesOwnApi: boolean
  readonly requireMention: boolean
  readonly freeResponseChannels: readonly string[]
  readonly allowedChannels: readonly string[]
  readonly ignoredChannels: readonly string[]
  readonly autoThread: boolean
  readonly noThreadChannels: readonly string[]
  readonly allowedRoles: readonly string[]
  /** How many messages before a mention are read. */
  readonly contextMessages: number
  readonly reactions: boolean
  readonly allowedMentions: AllowedMentions
  readonly allowBots: 'none' | 'mentions' | 'all'
}

/** Whom a message of the bot may notify. */
export interface AllowedMentions {
  readonly everyone: boolean
  readonly roles: boolean
  readonly users: boolean
  readonly repliedUser: boolean
}

/** Slack reads as many messages of a thread. */
const maxContextMessages = 30
const defaultApiUrl = 'https://discord.com/api'

/** Missing options take their defaults. Throws `config/invalid` for a token with the prefix "Bot ". */
export function parseOptions(values: JsonRecord): DiscordOptions {
  const token = String(values['token'] ?? '').trim()
  if (/^Bot\s/i.test(token)) {
    const detail =
      'platforms.discord.token: it begins with "Bot "; set the token alone, as the Developer Portal shows it.'
    throw new HermesError('config/invalid', detail)
  }
  const mentions = asRecord(values['allow_mentions'])
  const apiUrl = String(values['api_url'] ?? '').replace(/\/+$/, '')
  return {
    token,
    apiUrl: apiUrl === '' ? defaultApiUrl : apiUrl,
    usesOwnApi: apiUrl !== '' && apiUrl !== defaultApiUrl,
    requireMention: booleanOption(values, 'require_mention', true),
    freeResponseChannels: idListOption(values, 'free_response_channels'),
    allowedChannels: idListOption(values, 'allowed_channels'),
    ignoredChannels: idListOption(values, 'ignored_channels'),
    autoThread: booleanOption(values, 'auto_thread', true),
    noThreadChannels: idListOption(values, 'no_thread_channels'),
    allowedRoles: idListOption(values, 'allowed_roles'),
    contextMessages: countOption(values, 'context_messages', maxContextMessages),
    reactions: booleanOption(values, 'reactions', false),
    allowedMentions: {
      everyone: booleanOption(mentions, 'everyone', false),
      roles: booleanOption(mentions, 'roles', false),
      users: booleanOption(mentions, 'users', false),
      repliedUser: booleanOption(mentions, 'replied_user', true),
    },
    allowBots: values['allow_bots'] === 'mentions' || values['allow_bots'] === 'all' ? values['allow_bots'] : 'none',
  }
}

function booleanOption(options: JsonRecord, key: string, fallback: boolean): boolean {
  const value = options[key]
  return typeof value === 'boolean' ? value : fallback
}

function countOption(options: JsonRecord, key: string, max: number): number {
  const value = options[key]
  return typeof value === 'number' && value > 0 ? Math.min(Math.trunc(value), max) : 0
}

function idListOption(options: JsonRecord, key: string): readonly string[] {
  const value = options[key]
  return Array.isArray(value) ? value.map(String) : []
}
