/**
 * Checks an account for `hermes doctor`: the token, how messages arrive, and what the bot can read in groups.
 */
import { type DiagnosticResult, type Invitation, isHermesError, messageOf } from '#sdk'
import type { BotApi } from './connection/api.ts'
import { type BotIdentity, fetchIdentity } from './connection/identity.ts'
import { fetchWebhookInfo, isOwnWebhook, type WebhookInfo } from './connection/webhook.ts'
import type { TelegramOptions } from './options.ts'

const botFather = 'https://t.me/BotFather'

/** Throws `platform/…`. */
export async function invite(api: BotApi, signal: AbortSignal): Promise<Invitation> {
  const { username } = await fetchIdentity(api, signal)
  return { name: `@${username}`, url: `https://t.me/${username}`, advice: 'Open the chat, press Start and say hello.' }
}

/** Changes nothing at Telegram. Never throws. */
export async function diagnose(
  api: BotApi,
  options: TelegramOptions,
  signal: AbortSignal,
): Promise<DiagnosticResult[]> {
  try {
    const me = await fetchIdentity(api, signal)
    const info = await fetchWebhookInfo(api, signal)
    const name: DiagnosticResult = { state: 'ok', text: `The token belongs to @${me.username}.` }
    return [name, ...diagnoseDelivery(info, options), ...diagnoseGroups(me, options)]
  } catch (error) {
    if (isHermesError(error, 'platform/unauthorised')) {
      const advice = 'Ask @BotFather for the token (/mybots → API Token) and put it into .env as TELEGRAM_BOT_TOKEN.'
      return [{ state: 'problem', text: messageOf(error), advice, link: botFather }]
    }
    const advice = `Check that this machine reaches ${options.apiRoot}, and try again.`
    return [{ state: 'problem', text: messageOf(error), advice }]
  }
}

function diagnoseDelivery({ url, pending, lastError }: WebhookInfo, options: TelegramOptions): DiagnosticResult[] {
  const { webhook, webhookPath } = options
  if (webhook === undefined) {
    if (url === undefined)
      return [{ state: 'ok', text: 'The gateway polls for messages (mode: polling), and no webhook is set.' }]
    if (isOwnWebhook(url, webhookPath)) {
      return [{ state: 'note', text: 'A webhook of this gateway is still set; it is removed at the next start.' }]
    }
    const advice =
      'Stop the other program and remove its webhook (deleteWebhook), or use a separate bot for this gateway.'
    return [{ state: 'problem', text: `Another program receives the messages of this bot: ${originOf(url)}.`, advice }]
  }
  const results: DiagnosticResult[] = []
  if (!/^https:\/\/[^/]+(?<!:(?!443\/|80\/|88\/|8443\/)\d+)\//.test(webhook.url) && !options.ownApiRoot) {
    results.push({
      state: 'problem',
      text: `Telegram cannot call ${webhook.url}.`,
      advice: 'Use an https address on port 443, 80, 88 or 8443 in webhook_url.',
    })
  }
  if (url !== webhook.url) {
    results.push({
      state: 'note',
      text:
        url === undefined ? 'The webhook is not set yet.' : `Telegram calls ${originOf(url)} instead of this gateway.`,
      advice: 'The gateway sets it when it starts.',
    })
  } else if (lastError !== undefined && pending > 0) {
    results.push({
      state: 'problem',
      text: `Telegram cannot call the webhook: ${lastError.message} (${pending} pending messages).`,
      advice:
        'Check that webhook_url reaches this gateway, that its host name is in http.allowed_hosts, and that its certificate is valid.',
    })
  } else results.push({ state: 'ok', text: `Telegram calls ${originOf(url)} (mode: webhook).` })
  return results
}

/** Some settings for groups require rights that only @BotFather can grant. */
function diagnoseGroups(
  { readsAllGroupMessages, canJoinGroups }: BotIdentity,
  { groups }: TelegramOptions,
): DiagnosticResult[] {
  const needsAllMessages =
    !groups.requireMention || groups.freeResponseChats.size > 0 || groups.matchesMention !== undefined
  const results: DiagnosticResult[] = []
  if (needsAllMessages && !readsAllGroupMessages) {
    results.push({
      state: 'problem',
      text: 'Privacy mode is on: in groups the bot receives only commands, mentions and replies to it.',
      advice:
        'Switch it off with @BotFather (/setprivacy), then remove the bot from the group and add it again; or make it an administrator there.',
      link: botFather,
    })
  }
  if (needsAllMessages && !canJoinGroups) {
    results.push({
      state: 'problem',
      text: 'The bot cannot be added to groups.',
      advice: 'Allow it with @BotFather (/setjoingroups).',
      link: botFather,
    })
  }
  return results
}

/** The path of another program's webhook may contain a secret. */
function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'an invalid URL'
}
