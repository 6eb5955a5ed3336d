/**
 * The options of an account, and what is missing for its mode.
 */
import { HermesError } from '#sdk'

export interface SlackOptions {
  readonly botToken: string
  readonly transport:
    | { readonly mode: 'socket'; readonly appToken: string }
    | { readonly mode: 'http'; readonly signingSecret: string }
  /** The base of the Web API, with a slash at its end. */
  readonly apiUrl: string
  /** The origin of `api_url`, where the operator has set one: it may lie in a private network. */
  readonly trustedOrigin: string | undefined
  readonly rules: MessageRules
  readonly richBlocks: boolean
  readonly typingText: string
}

/** What of all that is said in a workspace is meant for the agent. */
export interface MessageRules {
  readonly requireMention: boolean
  readonly strictMention: boolean
  readonly freeResponseChannels: readonly string[]
  readonly ignoredChannels: readonly string[]
  readonly replyInThread: boolean
  readonly allowBots: 'none' | 'mentions' | 'all'
}

export const defaultApiUrl = 'https://slack.com/api/'

/** Throws `config/invalid`, naming the key, where something is missing that the mode needs. */
export function parseOptions(options: Readonly<Record<string, unknown>>, account: string): SlackOptions {
  const where = account === 'default' ? 'platforms.slack' : `platforms.slack.accounts.${account}`
  const text = (key: string) => {
    const value = options[key]
    return typeof value === 'string' ? value.trim() : ''
  }
  const needed = (key: string, variable: string, why: string) => {
    const value = text(key)
    if (value !== '') return value
    throw new HermesError('config/invalid', `${where}.${key} (or ${variable}) is not set: ${why}.`, {
      hint: 'docs/how-to/connect-slack.md says where to find it.',
    })
  }
  const botToken = needed('bot_token', 'SLACK_BOT_TOKEN', 'the app signs in with it')
  const own = text('api_url')
  return {
    botToken,
    transport:
      options['mode'] === 'http'
        ? { mode: 'http', signingSecret: needed('signing_secret', 'SLACK_SIGNING_SECRET', 'mode: http needs it') }
        : { mode: 'socket', appToken: needed('app_token', 'SLACK_APP_TOKEN', 'mode: socket needs it') },
    apiUrl: own === '' ? defaultApiUrl : parseBaseUrl(own, `${where}.api_url`),
    trustedOrigin: own === '' ? undefined : new URL(parseBaseUrl(own, `${where}.api_url`)).origin,
    rules: parseRules(options),
    richBlocks: options['rich_blocks'] === true,
    typingText: text('typing_status_text') || 'is thinking...',
  }
}

/** The rules alone, with their defaults. */
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
    throw new HermesError('config/invalid', `${key} is not the address of a server (https://…).`)
  }
  return address.endsWith('/') ? address : `${address}/`
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((id) => typeof id === 'string') : []
}
