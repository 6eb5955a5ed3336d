/**
 * Webhooks (contract §2.7): POST requests with JSON, signed if a secret is configured. Retried once after a connection error
 * or a server error. Redirects are not followed, so that events reach only the configured URL.
 */
import { createHmac } from 'node:crypto'
import { messageOf } from '../lib/errors.ts'
import type { Webhook } from './config.ts'
import type { HookRegistryDeps } from './contract.ts'
import { type HandlerResult, handlerFailure, type RunHook } from './handler-result.ts'
import { createHookPayload, matchesPattern } from './payload.ts'

const maxAttempts = 2

export function createWebhook(hook: Webhook, deps: HookRegistryDeps): RunHook {
  return async ({ event, context }) => {
    if (!matchesPattern(hook.matcher, context)) return { ok: true, value: null }
    const secret = hook.secret ?? (hook.secret_env === undefined ? '' : (deps.environment()[hook.secret_env] ?? ''))
    // A request that must be signed is never sent unsigned, so an empty secret is an error.
    if (secret === '' && hook.secret !== undefined) return handlerFailure('The secret of the webhook is empty.')
    if (secret === '' && hook.secret_env !== undefined)
      return handlerFailure(`The environment variable ${hook.secret_env} with the secret of the webhook is not set.`)
    const delivery = deps.newId()
    const timestamp = new Date(deps.clock()).toISOString()
    const body = JSON.stringify({ ...createHookPayload(event, context, deps.home), delivery_id: delivery, timestamp })
    const { url, authorization } = splitCredentials(hook.url)
    const headers = {
      ...authorization,
      'content-type': 'application/json',
      'x-hermes-event': event,
      'x-hermes-delivery': delivery,
      ...(secret === '' ? {} : { 'x-hermes-signature-256': `sha256=${hmac(secret, body)}` }),
    }
    for (let attempt = 1; ; attempt++) {
      const { result, mayRetry } = await postOnce({ url, timeout: hook.timeout }, body, headers)
      if (result.ok || !mayRetry || attempt === maxAttempts) return result
    }
  }
}

/** Moves credentials into a header. `fetch` rejects a URL with credentials, and its error contains them. */
function splitCredentials(text: string): {
  readonly url: string
  readonly authorization: Readonly<Record<string, string>>
} {
  const url = new URL(text)
  const { username, password } = url
  if (username === '' && password === '') return { url: text, authorization: {} }
  url.username = ''
  url.password = ''
  const credentials = Buffer.from(`${decodePercent(username)}:${decodePercent(password)}`).toString('base64')
  return { url: url.href, authorization: { authorization: `Basic ${credentials}` } }
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // The text contains a literal percent sign.
    return text
  }
}

function hmac(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

async function postOnce(
  { url, timeout }: Pick<Webhook, 'url' | 'timeout'>,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly result: HandlerResult; readonly mayRetry: boolean }> {
  try {
    const signal = AbortSignal.timeout(timeout * 1_000)
    const response = await fetch(url, { method: 'POST', body, headers, signal, redirect: 'manual' })
    await response.body?.cancel()
    if (response.ok) return { result: { ok: true, value: null }, mayRetry: false }
    return { result: handlerFailure(`The server responded with ${response.status}.`), mayRetry: response.status >= 500 }
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return { result: handlerFailure(`The server could not be reached: ${messageOf(cause)}`), mayRetry: true }
  }
}
