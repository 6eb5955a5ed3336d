/**
 * Checks a webhook once a minute with `getWebhookInfo`. Without calls the gateway cannot tell an idle chat from a broken
 * webhook.
 */
import { messageOf } from '#sdk'
import type { WebhookInfo } from './webhook.ts'

export interface WebhookWatchdogDeps {
  /** The registered URL. */
  readonly url: string
  fetchInfo(signal: AbortSignal): Promise<WebhookInfo>
  health(state: 'connected' | 'degraded', reason?: string): void
  /** Called when the check succeeds. */
  received(): void
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** Milliseconds since 1970. */
  clock(): number
}

const checkIntervalMs = 60_000
/** An older error is resolved, or there was no message since. */
const recentErrorMs = 3 * checkIntervalMs

/** Resolves when the signal aborts; never rejects. */
export async function watchWebhook(deps: WebhookWatchdogDeps, signal: AbortSignal): Promise<void> {
  let wasDegraded = false
  while (!signal.aborted) {
    const problem = await checkWebhook(deps, signal)
    if (signal.aborted) return
    if (problem !== undefined) deps.health('degraded', problem)
    else {
      deps.received()
      if (wasDegraded) deps.health('connected')
    }
    wasDegraded = problem !== undefined
    await deps.sleep(checkIntervalMs, signal)
  }
}

async function checkWebhook(
  { url: registeredUrl, fetchInfo, clock }: WebhookWatchdogDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { url, pending, lastError } = await fetchInfo(signal)
    if (url !== registeredUrl)
      return 'another program has changed the webhook of this bot; use a separate bot for this gateway'
    if (lastError === undefined || pending === 0 || clock() - lastError.at > recentErrorMs) return undefined
    return `Telegram cannot call the webhook: ${lastError.message}`
  } catch (error) {
    return messageOf(error)
  }
}
