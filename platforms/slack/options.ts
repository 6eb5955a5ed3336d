/**
 * Parses and validates the options of an account.
 */
import { HermesError } from '#sdk'

export interface SlackOptions {
  readonly botToken: string
  readonly transport:
    | { readonly mode: 'socket'; readonly appToken: string }
    | { readonly mode: 'http'; readonly signingSecret: string }
  /** The base URL of the Web API. Ends in a slash. */
  readonly apiUrl: string
  /** The origin of a configured `api_url`, which may be in a private network. */
  readonly trustedOrigin: string | undefined
  /** Further origins of a self-hosted server, for files. */
  readonly fileHosts: readonly string[]
  readonly rules: MessageRules
  readonly richBlocks: boolean
  readonly typingText: string
  /** What the status shows of a running tool: its name and what it works on, its name, or nothing. */
  readonly liveStatus: 'full' | 'verb' | 'off'
}

/** Rules that decide which messages the agent handles. */
export interface MessageRules {
  readonly requireMention: boolean
  readonly strictMention: boolean
  readonly freeResponseChannels: readonly string[]
  readonly ignoredChannels: readonly string[]
  readonly replyInThread: boolean
  readonly allowBots: 'none' | 'mentions' | 'all'
}

export const defaultApiUrl = 'https://slack.com/api/'

/** Throws `config/invalid` with the name of the key when an option is missing or invalid. */
export function parseOptions(options: Readonly<Record<string, unknown>>, account: string): SlackOptions {
  const path = account === 'default' ? 'platforms.slack' : `platforms.slack.accounts.${account}`
  const text = (key: string) => {
    const value = options[key]
    return typeof value === 'string' ? value.trim() : ''
  }
  const required = (key: string, variable: string, reason: string) => {
    const value = text(key)
    if (value !== '') return value
    throw new HermesError('config/invalid', `${path}.${key} (or ${variable}) is not set: ${reason}.`, {
      hint: 'See docs/how-to/connect-slack.md.',
    })
  }
  const botToken = required('bot_token', 'SLACK_BOT_TOKEN', 'the app uses it to sign in')
  const configuredUrl = text('api_url')
  return {
    botToken,
    transport:
      options['mode'] === 'http'
        ? { mode: 'http', signingSecret: required('signing_secret', 'SLACK_SIGNING_SECRET', 'mode: http requires it') }
        : { mode: 'socket', appToken: required('app_token', 'SLACK_APP_TOKEN', 'mode: socket requires it') },
    apiUrl: configuredUrl === '' ? defaultApiUrl : parseBaseUrl(configuredUrl, `${path}.api_url`),
    trustedOrigin: configuredUrl === '' ? undefined : new URL(parseBaseUrl(configuredUrl, `${path}.api_url`)).origin,
    fileHosts: textList(options['file_hosts']),
    rules: parseRules(options),
    richBlocks: options['rich_blocks'] === true,
    typingText: text('typing_status_text') || 'is thinking...',
    liveStatus: parseLiveStatus(options['live_status']),
  }
}

function parseLiveStatus(value: unknown): SlackOptions['liveStatus'] {
  return value === 'verb' || value === 'off' ? value : 'full'
}

/** The rules with their defaults. */
export function parseRules(options: Readonly<Record<string, unknown>>): MessageRules {
  const bots = options['allow_bots']
  return {
    requireMention: options['require_mention'] !== false,
    strictMention: options['strict_mention'] === true,
    freeResponseChannels: textList(options['free_response_channels']),
    ignoredChannels: textList(options['ignored_channels']),
    replyInThread: options['reply_in_thread'] !== false,
    allowBots: bots === 'mentions' || bots === 'all' ? bots : 'none',
  }
}

function parseBaseUrl(address: string, key: string): string {
  if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
    throw new HermesError('config/invalid', `${key} is not a URL (https://…).`)
  }
  return address.endsWith('/') ? address : `${address}/`
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string') : []
}
