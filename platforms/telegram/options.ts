/**
 * Parses and validates the options of an account before it connects.
 */
import { HermesError } from '#sdk'
import { createMentionMatcher, type MentionMatcher } from './inbound/mention-patterns.ts'

export interface TelegramOptions {
  readonly token: string
  /** The digits before the colon of the token: the bot's own user id. */
  readonly botId: string
  /** Ends in a slash. */
  readonly apiRoot: string
  /** `api_root` is configured, so the server may be in a private network. */
  readonly ownApiRoot: boolean
  readonly webhook?: { readonly url: string; readonly secret: string } | undefined
  /** The path of this account's webhook, also in polling mode. */
  readonly webhookPath: string
  readonly groups: GroupRules
}

/** Rules for messages in groups and channels. */
export interface GroupRules {
  readonly requireMention: boolean
  /** Absent without `mention_patterns`. */
  readonly matchesMention?: MentionMatcher
  /** Chat ids, or `chat:thread`. */
  readonly freeResponseChats: ReadonlySet<string>
  /** Thread ids, or `chat:thread`. */
  readonly ignoredThreads: ReadonlySet<string>
  readonly allowBots: 'none' | 'mentions' | 'all'
}

const defaultApiRoot = 'https://api.telegram.org/'

/** Throws `config/invalid`. The message contains no secret. */
export function parseOptions(options: Readonly<Record<string, unknown>>, account: string): TelegramOptions {
  const token = trimmedText(options['token'])
  const botId = /^(\d+):[\w-]+$/.exec(token)?.[1]
  if (botId === undefined) {
    throw invalidOption('token', 'expected a token from @BotFather in the form <digits>:<letters> (123456:ABC…)')
  }
  const root = trimmedText(options['api_root'])
  const patterns = textList(options['mention_patterns'])
  const webhookPath = account === 'default' ? '/webhooks/telegram' : `/webhooks/telegram/${account}`
  const webhook = usesWebhook(options) ? parseWebhook(options, webhookPath) : undefined
  return {
    token,
    botId,
    apiRoot: root === '' ? defaultApiRoot : parseUrl('api_root', root).href.replace(/\/*$/, '/'),
    ownApiRoot: root !== '',
    webhook,
    webhookPath,
    groups: {
      requireMention: options['require_mention'] !== false,
      ...(patterns.length === 0 ? {} : { matchesMention: createMentionMatcher(patterns) }),
      freeResponseChats: new Set(textList(options['free_response_chats'])),
      ignoredThreads: new Set(textList(options['ignored_threads'])),
      allowBots: parseAllowBots(options['allow_bots']),
    },
  }
}

function usesWebhook(options: Readonly<Record<string, unknown>>): boolean {
  const mode = trimmedText(options['mode'])
  return mode === 'webhook' || (mode === '' && trimmedText(options['webhook_url']) !== '')
}

/** `webhook_url` is the address of the gateway or of the webhook itself. Accounts share it and differ in the path. */
function parseWebhook(options: Readonly<Record<string, unknown>>, path: string): { url: string; secret: string } {
  const secret = trimmedText(options['webhook_secret'])
  if (!/^[\w-]{1,256}$/.test(secret)) {
    throw invalidOption('webhook_secret', 'mode webhook requires a secret of 1 to 256 letters, digits, _ and -')
  }
  const configuredUrl = trimmedText(options['webhook_url'])
  if (configuredUrl === '')
    throw invalidOption('webhook_url', 'mode webhook requires the public address of this gateway')
  const url = parseUrl('webhook_url', configuredUrl)
  const base = url.pathname.replace(/\/+$/, '')
  url.pathname = base.endsWith(path) ? base : `${base.replace(/\/webhooks\/telegram$/, '')}${path}`
  return { url: url.href, secret }
}

function parseUrl(key: string, text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidOption(key, 'expected a URL that starts with https:// (or http://)')
  }
  return url
}

function invalidOption(key: string, issue: string): HermesError {
  return new HermesError('config/invalid', `platforms.telegram.${key}: ${issue}.`)
}

function parseAllowBots(value: unknown): GroupRules['allowBots'] {
  return value === 'mentions' || value === 'all' ? value : 'none'
}

function trimmedText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : ''
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.map((item) => String(item).trim()).filter((item) => item !== '') : []
}
