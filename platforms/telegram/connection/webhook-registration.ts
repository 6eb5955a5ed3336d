/**
 * How Telegram hands over messages to this bot: by a webhook, or by being asked. Only one of them works at a time.
 */

import { asNumber, asRecord, asText, type JsonRecord } from '../inbound/payload.ts'
import { allowedUpdates } from './allowed-updates.ts'
import type { BotApi } from './api.ts'

export interface WebhookInfo {
  /** Undefined where none is set. */
  readonly url?: string
  readonly pending: number
  /** What went wrong last, and when, in ms since 1970. */
  readonly lastError?: { readonly message: string; readonly at: number }
}

/** Throws `ApiError`. */
export async function fetchWebhookInfo(api: BotApi, signal: AbortSignal): Promise<WebhookInfo> {
  const info = asRecord(await api.call('getWebhookInfo', {}, signal))
  const url = asText(info['url'])
  const lastError = parseLastError(info)
  return {
    ...(url === undefined ? {} : { url }),
    pending: asNumber(info['pending_update_count']) ?? 0,
    ...(lastError === undefined ? {} : { lastError }),
  }
}

function parseLastError(info: JsonRecord): WebhookInfo['lastError'] {
  const message = asText(info['last_error_message'])
  const at = asNumber(info['last_error_date'])
  return message === undefined || at === undefined ? undefined : { message, at: at * 1_000 }
}

/** Whether a webhook was set by this gateway, for this account. */
export function isOwnWebhook(url: string, path: string): boolean {
  return URL.parse(url)?.pathname.endsWith(path) ?? false
}

/** Messages that wait are kept. Throws `ApiError`. */
export async function setWebhook(
  api: BotApi,
  webhook: { url: string; secret: string },
  signal: AbortSignal,
): Promise<void> {
  const { url, secret } = webhook
  await api.call('setWebhook', { url, secret_token: secret, allowed_updates: allowedUpdates }, signal)
}

/** Back to being asked: takes away a webhook of ours. Somebody else's stays, and the poll says so. Throws `ApiError`. */
export async function deleteOwnWebhook(api: BotApi, path: string, signal: AbortSignal): Promise<void> {
  const { url } = await fetchWebhookInfo(api, signal)
  if (url !== undefined && isOwnWebhook(url, path)) await api.call('deleteWebhook', {}, signal)
}
