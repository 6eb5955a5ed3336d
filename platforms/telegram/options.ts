/**
 * The options of an account, checked once: whatever is wrong with them is said before anything is connected.
 */
import { HermesError } from '#sdk'
import { createMentionMatcher, type MentionMatcher } from './inbound/mention-patterns.ts'

export interface TelegramOptions {
  readonly token: string
  /** The digits before the colon of the token: the bot's own user id. */
  readonly botId: string
  /** Ends in a slash. */
  readonly apiRoot: string
  /** An operator has named the root: it may lie in a private network. */
  readonly ownApiRoot: boolean
  readonly webhook?: { readonly url: string; readonly secret: string }
  /** Where the webhook of this account is served, in either mode. */
  readonly webhookPath: string
  readonly groups: GroupRules
}

/** What counts in groups and channels. */
export interface GroupRules {
  readonly requireMention: boolean
  /** By one of the account's own words. */
  readonly matchesMention: MentionMatcher
  readonly hasMentionPatterns: boolean
  /** Chat ids, or `chat:thread`. */
  readonly freeResponseChats: ReadonlySet<string>
  /** Thread ids, or `chat:thread`. */
  readonly ignoredThreads: ReadonlySet<string>
  readonly allowBots: 'none' | 'mentions' | 'all'
}

const defaultApiRoot = 'https://api.telegram.org/'

/** Throws `config/invalid`, in words that repeat no secret. */
export function parseOptions(options: Readonly<Record<string, unknown>>, account: string): TelegramOptions {
  const token = trimmedText(options['token'])
  const botId = /^(\d+):[\w-]+$/.exec(token)?.[1]
  if (botId === undefined) {
    throw invalidOption(
      'token',
      'it has not the form <digits>:<letters> of the tokens that @BotFather gives (123456:ABC…)',
    )
  }
  const root = trimmedText(options['api_root'])
  const words = textList(options['mention_patterns'])
  const webhookPath = account === 'default' ? '/webhooks/telegram' : `/webhooks/telegram/${account}`
  const webhook = usesWebhook(options) ? parseWebhook(options, webhookPath) : undefined
  return {
    token,
    botId,
    apiRoot: root === '' ? defaultApiRoot : parseUrl('api_root', root).href.replace(/\/*$/, '/'),
    ownApiRoot: root !== '',
    ...(webhook === undefined ? {} : { webhook }),
    webhookPath,
    groups: {
      requireMention: options['require_mention'] !== false,
      matchesMention: createMentionMatcher(words),
      hasMentionPatterns: words.length > 0,
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

/** `webhook_url` may be the address of the gateway, or already that of the webhook; accounts share it and differ in the path. */
function parseWebhook(options: Readonly<Record<string, unknown>>, path: string): { url: string; secret: string } {
  const secret = trimmedText(options['webhook_secret'])
  if (!/^[\w-]{1,256}$/.test(secret)) {
    throw invalidOption('webhook_secret', 'mode webhook needs 1 to 256 letters, digits, _ and -')
  }
  const given = trimmedText(options['webhook_url'])
  if (given === '') throw invalidOption('webhook_url', 'mode webhook needs the public address of this gateway')
  const url = parseUrl('webhook_url', given)
  const base = url.pathname.replace(/\/+$/, '')
  url.pathname = base.endsWith(path) ? base : `${base.replace(/\/webhooks\/telegram$/, '')}${path}`
  return { url: url.href, secret }
}

function parseUrl(key: string, text: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw invalidOption(key, 'expected an address that begins with https:// (or http://)')
  }
  return url
}

function invalidOption(key: string, what: string): HermesError {
  return new HermesError('config/invalid', `platforms.telegram.${key}: ${what}.`)
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
