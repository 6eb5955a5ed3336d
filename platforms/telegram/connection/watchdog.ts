/**
 * In webhook mode nothing is asked for, so silence proves nothing: now and then Telegram is asked whether its calls arrive.
 */
import { messageOf } from '#sdk'
import type { WebhookInfo } from './webhook-registration.ts'

export interface WebhookWatchdogDeps {
  /** The address that Telegram was given. */
  readonly url: string
  fetchInfo(signal: AbortSignal): Promise<WebhookInfo>
  health(state: 'connected' | 'degraded', reason?: string): void
  /** Telegram's calls arrive, as far as it knows. */
  received(): void
  sleep(ms: number, signal: AbortSignal): Promise<void>
  /** ms since 1970. */
  clock(): number
}

const checkIntervalMs = 60_000
/** An error this old has been overcome, or nobody has written since. */
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
  { url: wanted, fetchInfo, clock }: WebhookWatchdogDeps,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { url, pending, lastError } = await fetchInfo(signal)
    if (url !== wanted) return 'another program has changed the webhook of this bot; give this gateway a bot of its own'
    if (lastError === undefined || pending === 0 || clock() - lastError.at > recentErrorMs) return undefined
    return `Telegram cannot call the webhook: ${lastError.message}`
  } catch (error) {
    return messageOf(error)
  }
}
