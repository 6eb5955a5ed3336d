/**
 * In webhook mode nothing is asked for, so silence proves nothing: now and then Telegram is asked whether its calls arrive.
 */
import { messageOf } from '#sdk'
import type { WebhookInfo } from './registration.ts'

export interface WatchDeps {
  /** The address that Telegram was given. */
  readonly url: string
  info(signal: AbortSignal): Promise<WebhookInfo>
  health(state: 'connected' | 'degraded', reason?: string): void
  /** Telegram's calls arrive, as far as it knows. */
  received(): void
  pause(ms: number, signal: AbortSignal): Promise<void>
  /** ms since 1970. */
  clock(): number
}

const everyMs = 60_000
/** An error this old has been overcome, or nobody has written since. */
const recentMs = 3 * everyMs

/** Resolves when the signal aborts; never rejects. */
export async function watchWebhook(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  let ill = false
  while (!signal.aborted) {
    const trouble = await troubleOf(deps, signal)
    if (signal.aborted) return
    if (trouble !== undefined) deps.health('degraded', trouble)
    else {
      deps.received()
      if (ill) deps.health('connected')
    }
    ill = trouble !== undefined
    await deps.pause(everyMs, signal)
  }
}

async function troubleOf({ url: wanted, info, clock }: WatchDeps, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { url, pending, lastError } = await info(signal)
    if (url !== wanted) return 'another program has changed the webhook of this bot; give this gateway a bot of its own'
    if (lastError === undefined || pending === 0 || clock() - lastError.at > recentMs) return undefined
    return `Telegram cannot call the webhook: ${lastError.message}`
  } catch (error) {
    return messageOf(error)
  }
}
