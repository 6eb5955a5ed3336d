/**
 * Checks a webhook once a minute with `getWebhookInfo`. Without calls the gateway cannot tell an idle chat from a broken
 * webhook.
 */
import { messageOf, sleep } from '#sdk'
import type { TelegramAccount } from '../account.ts'
import { fetchWebhookInfo } from './webhook.ts'

const checkIntervalMs = 60_000
/** An older error is resolved, or there was no message since. */
const recentErrorMs = 3 * checkIntervalMs

type WatchedAccount = Pick<TelegramAccount, 'context' | 'api' | 'stopping'>

/** Resolves when the account is disconnected; never rejects. */
export async function watchWebhook(account: WatchedAccount, registeredUrl: string, pause = sleep): Promise<void> {
  const { connection } = account.context
  const { signal } = account.stopping
  let wasDegraded = false
  while (!signal.aborted) {
    const problem = await checkWebhook(account, registeredUrl)
    if (signal.aborted) return
    if (problem !== undefined) connection.health('degraded', problem)
    else {
      connection.received()
      if (wasDegraded) connection.health('connected')
    }
    wasDegraded = problem !== undefined
    await pause(checkIntervalMs, signal)
  }
}

async function checkWebhook(
  { context, api, stopping }: WatchedAccount,
  registeredUrl: string,
): Promise<string | undefined> {
  try {
    const { url, pending, lastError } = await fetchWebhookInfo(api, stopping.signal)
    if (url !== registeredUrl)
      return 'another program has changed the webhook of this bot; use a separate bot for this gateway'
    if (lastError === undefined || pending === 0 || context.clock() - lastError.at > recentErrorMs) return undefined
    return `Telegram cannot call the webhook: ${lastError.message}`
  } catch (error) {
    return messageOf(error)
  }
}
