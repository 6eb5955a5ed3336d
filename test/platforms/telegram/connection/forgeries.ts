/**
 * Calls of the webhook of Telegram that do not come from Telegram. None has the secret in the one header for it.
 */
import { createHash } from 'node:crypto'

export const webhookSecret = 'a-secret_of-both-sides'
export const botToken = '123456:AA-token-of-the-bot'

export interface TelegramForgery {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** Appended to the address. */
  readonly query?: string
}

const header = 'x-telegram-bot-api-secret-token'
const hash = (algorithm: string, encoding: 'hex' | 'base64') =>
  createHash(algorithm).update(webhookSecret).digest(encoding)

/** What stands in the header instead of the secret. */
const values: Readonly<Record<string, string>> = {
  'an empty secret': '',
  'another secret': 'another-secret-of-someone',
  'another secret of the same length': 'x'.repeat(webhookSecret.length),
  'the secret without its first character': webhookSecret.slice(1),
  'the secret without its last character': webhookSecret.slice(0, -1),
  'the secret with one character more': `${webhookSecret}x`,
  'a character before the secret': `x${webhookSecret}`,
  'another last character': `${webhookSecret.slice(0, -1)}x`,
  'another first character': `x${webhookSecret.slice(1)}`,
  'upper case': webhookSecret.toUpperCase(),
  'the secret reversed': [...webhookSecret].reverse().join(''),
  'the secret twice': `${webhookSecret}${webhookSecret}`,
  'the secret twice, as two headers are joined': `${webhookSecret}, ${webhookSecret}`,
  'a wrong secret before the right one': `wrong, ${webhookSecret}`,
  'a wrong secret after the right one': `${webhookSecret}, wrong`,
  'the secret in quotes': `"${webhookSecret}"`,
  'the secret with a scheme': `Bearer ${webhookSecret}`,
  'the secret as a parameter': `secret_token=${webhookSecret}`,
  'the secret in base64': Buffer.from(webhookSecret).toString('base64'),
  'the secret in hexadecimal': Buffer.from(webhookSecret).toString('hex'),
  'the secret in percent signs': webhookSecret.replaceAll('-', '%2D'),
  'other hyphens': webhookSecret.replaceAll('-', '\u00ad'),
  'spaces instead of hyphens': webhookSecret.replaceAll('-', ' '),
  'the SHA-256 of the secret': hash('sha256', 'hex'),
  'the SHA-256 of the secret in base64': hash('sha256', 'base64'),
  'the MD5 of the secret': hash('md5', 'hex'),
  'the token of the bot': botToken,
  'the word undefined': 'undefined',
  'the word null': 'null',
  'the word true': 'true',
  'an asterisk': '*',
  'a regular expression': '.*',
  'a very long text': 'a'.repeat(16_000),
}

export const telegramForgeries: readonly TelegramForgery[] = [
  ...Object.entries(values).map(([name, value]) => ({ name, headers: { [header]: value } })),
  { name: 'no secret', headers: {} },
  {
    name: 'the secret in the address',
    headers: {},
    query: `?secret_token=${webhookSecret}&${header}=${webhookSecret}`,
  },
  { name: 'the secret as a bearer token', headers: { authorization: `Bearer ${webhookSecret}` } },
  { name: 'the secret in a cookie', headers: { cookie: `${header}=${webhookSecret}` } },
  { name: 'the secret in a similar header', headers: { 'x-telegram-bot-api-secret': webhookSecret } },
  { name: 'the secret in the header of another platform', headers: { 'x-slack-signature': webhookSecret } },
  {
    name: 'an address of Telegram, claimed',
    headers: { 'x-forwarded-for': '149.154.160.1', 'x-real-ip': '149.154.160.1' },
  },
]
