/**
 * What `hermes doctor` says of an account: whether the token works, how messages come in, what the bot may read.
 */
import { type DiagnosticResult, isHermesError, messageOf } from '#sdk'
import type { BotApi } from './connection/api.ts'
import { type BotIdentity, fetchIdentity } from './connection/identity.ts'
import { fetchWebhookInfo, isOwnWebhook, type WebhookInfo } from './connection/webhook-registration.ts'
import type { TelegramOptions } from './options.ts'

/** Asks and changes nothing. Never throws. */
export async function diagnose(
  api: BotApi,
  options: TelegramOptions,
  signal: AbortSignal,
): Promise<DiagnosticResult[]> {
  try {
    const me = await fetchIdentity(api, signal)
    const info = await fetchWebhookInfo(api, signal)
    const name: DiagnosticResult = { state: 'ok', text: `The token is that of @${me.username}.` }
    return [name, ...diagnoseDelivery(info, options), ...diagnoseGroups(me, options)]
  } catch (error) {
    const advice = isHermesError(error, 'platform/unauthorised')
      ? 'Ask @BotFather for the token (/mybots → API Token) and put it into .env as TELEGRAM_BOT_TOKEN.'
      : `Check that this machine reaches ${options.apiRoot}, and try again.`
    return [{ state: 'problem', text: messageOf(error), advice }]
  }
}

function diagnoseDelivery({ url, pending, lastError }: WebhookInfo, options: TelegramOptions): DiagnosticResult[] {
  const { webhook, webhookPath } = options
  if (webhook === undefined) {
    if (url === undefined)
      return [{ state: 'ok', text: 'The gateway asks for messages (mode: polling); no webhook is in the way.' }]
    if (isOwnWebhook(url, webhookPath)) {
      return [{ state: 'note', text: 'A webhook of this gateway is still set; it is removed at the next start.' }]
    }
    const advice =
      'Stop the other program and remove its webhook (deleteWebhook), or give this gateway a bot of its own.'
    return [{ state: 'problem', text: `Another program receives the messages of this bot: ${originOf(url)}.`, advice }]
  }
  const found: DiagnosticResult[] = []
  if (!/^https:\/\/[^/]+(?<!:(?!443\/|80\/|88\/|8443\/)\d+)\//.test(webhook.url) && !options.ownApiRoot) {
    found.push({
      state: 'problem',
      text: `Telegram does not call ${webhook.url}.`,
      advice: 'Use an https address on port 443, 80, 88 or 8443 in webhook_url.',
    })
  }
  if (url !== webhook.url) {
    found.push({
      state: 'note',
      text:
        url === undefined ? 'The webhook is not set yet.' : `Telegram calls ${originOf(url)} instead of this gateway.`,
      advice: 'It is set when the gateway starts.',
    })
  } else if (lastError !== undefined && pending > 0) {
    found.push({
      state: 'problem',
      text: `Telegram cannot call the webhook: ${lastError.message} (${pending} messages wait).`,
      advice:
        'Check that webhook_url leads to this gateway, that its name is in http.allowed_hosts, and its certificate.',
    })
  } else found.push({ state: 'ok', text: `Telegram calls ${originOf(url)} (mode: webhook).` })
  return found
}

/** What was configured for groups may need rights that only @BotFather gives. */
function diagnoseGroups(
  { readsAllGroupMessages, canJoinGroups }: BotIdentity,
  { groups }: TelegramOptions,
): DiagnosticResult[] {
  const wantsAll = !groups.requireMention || groups.freeResponseChats.size > 0 || groups.hasMentionPatterns
  const found: DiagnosticResult[] = []
  if (wantsAll && !readsAllGroupMessages) {
    found.push({
      state: 'problem',
      text: 'Privacy mode is on: in groups the bot is shown only commands, mentions and answers to it.',
      advice:
        'Switch it off with @BotFather (/setprivacy), then remove the bot from the group and add it again; or make it an administrator there.',
    })
  }
  if (wantsAll && !canJoinGroups) {
    found.push({
      state: 'problem',
      text: 'The bot may not be added to groups.',
      advice: 'Allow it with @BotFather (/setjoingroups).',
    })
  }
  return found
}

/** A webhook of somebody else may hold a secret in its path. */
function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'an address that cannot be read'
}
