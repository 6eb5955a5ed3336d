/**
 * Webhook mode: the HTTP route that Telegram calls, and the registration of its URL. The route responds with 200 only
 * after the update is stored. Telegram repeats the call after any other response.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { HttpRoute } from '#sdk'
import type { Ingest } from '../inbound/ingest.ts'
import { asNumber, asRecord, asText, type JsonRecord } from '../inbound/payload.ts'
import { allowedUpdates, type BotApi } from './api.ts'

/** @param received called for every authentic request */
export function createWebhookRoute(path: string, secret: string, ingest: Ingest, received: () => void): HttpRoute {
  return {
    method: 'POST',
    path,
    access: 'own',
    async handle(request) {
      if (!isEqualConstantTime(request.headers.get('x-telegram-bot-api-secret-token') ?? '', secret)) {
        return new Response(null, { status: 401 })
      }
      const update = await parseJsonBody(request)
      if (update === undefined) return new Response('expected an update as JSON', { status: 400 })
      received()
      // The HTTP server converts an exception into a status above 400.
      await ingest([update])
      return new Response(null, { status: 200 })
    },
  }
}

async function parseJsonBody(request: Request): Promise<unknown> {
  try {
    return await request.json()
  } catch {
    return undefined
  }
}

/** Compares digests, so that the duration reveals nothing about the secret. */
function isEqualConstantTime(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

export interface WebhookInfo {
  /** Absent when no webhook is set. */
  readonly url?: string | undefined
  readonly pending: number
  /** The last failed call of the webhook; `at` in milliseconds since 1970. */
  readonly lastError?: { readonly message: string; readonly at: number } | undefined
}

/** Throws `ApiError`. */
export async function fetchWebhookInfo(api: BotApi, signal: AbortSignal): Promise<WebhookInfo> {
  const info = asRecord(await api.call('getWebhookInfo', {}, signal))
  const url = asText(info['url'])
  const lastError = parseLastError(info)
  return {
    url,
    pending: asNumber(info['pending_update_count']) ?? 0,
    lastError,
  }
}

function parseLastError(info: JsonRecord): WebhookInfo['lastError'] {
  const message = asText(info['last_error_message'])
  const at = asNumber(info['last_error_date'])
  return message === undefined || at === undefined ? undefined : { message, at: at * 1_000 }
}

/** Whether this gateway set the webhook, for this account. */
export function isOwnWebhook(url: string, path: string): boolean {
  return URL.parse(url)?.pathname.endsWith(path) ?? false
}

/** Pending messages are kept. Throws `ApiError`. */
export async function setWebhook(
  api: BotApi,
  webhook: { url: string; secret: string },
  signal: AbortSignal,
): Promise<void> {
  const { url, secret } = webhook
  await api.call('setWebhook', { url, secret_token: secret, allowed_updates: allowedUpdates }, signal)
}

/**
 * Telegram allows no polling while a webhook is set. Removes a webhook of this gateway; one of another program stays, and
 * polling then reports the conflict. Throws `ApiError`.
 */
export async function deleteOwnWebhook(api: BotApi, path: string, signal: AbortSignal): Promise<void> {
  const { url } = await fetchWebhookInfo(api, signal)
  if (url !== undefined && isOwnWebhook(url, path)) await api.call('deleteWebhook', {}, signal)
}
