/**
 * An address that is told of events (contract §2.7): a POST with JSON, signed where there is a secret. Tried once more when
 * the connection failed or the server did; never sent anywhere else than to the address that was configured.
 */
import { createHmac } from 'node:crypto'
import { messageOf } from '../lib/errors.ts'
import type { Webhook } from './config.ts'
import { failed, type Outcome, type RunHook } from './outcome.ts'
import { fits, payloadOf } from './payload.ts'

export interface WebhookDeps {
  readonly fetch: typeof fetch
  readonly environment: () => Readonly<Record<string, string>>
  readonly cwd: string
  readonly newId: () => string
  readonly clock: () => number
}

const attempts = 2

export function createWebhook(hook: Webhook, deps: WebhookDeps): RunHook {
  return async ({ event, context }) => {
    if (!fits(hook.matcher, context)) return { ok: true, value: null }
    const secret = hook.secret ?? (hook.secret_env === undefined ? '' : deps.environment()[hook.secret_env])
    if (secret === undefined) return failed(`The variable ${hook.secret_env}, which holds its secret, is not set.`)
    const delivery = deps.newId()
    const timestamp = new Date(deps.clock()).toISOString()
    const body = JSON.stringify({ ...payloadOf(event, context, deps.cwd), delivery_id: delivery, timestamp })
    const headers = {
      'content-type': 'application/json',
      'x-hermes-event': event,
      'x-hermes-delivery': delivery,
      ...(secret === '' ? {} : { 'x-hermes-signature-256': `sha256=${hmac(secret, body)}` }),
    }
    for (let attempt = 1; ; attempt++) {
      const { outcome, mayRetry } = await post(hook, body, headers, deps.fetch)
      if (outcome.ok || !mayRetry || attempt === attempts) return outcome
    }
  }
}

function hmac(secret: string, body: string): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

async function post(
  { url, timeout }: Webhook,
  body: string,
  headers: Readonly<Record<string, string>>,
  send: typeof fetch,
): Promise<{ readonly outcome: Outcome; readonly mayRetry: boolean }> {
  try {
    const signal = AbortSignal.timeout(timeout * 1_000)
    const response = await send(url, { method: 'POST', body, headers, signal, redirect: 'manual' })
    await response.body?.cancel()
    if (response.ok) return { outcome: { ok: true, value: null }, mayRetry: false }
    return { outcome: failed(`The address answered ${response.status}.`), mayRetry: response.status >= 500 }
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
    return { outcome: failed(`The address could not be reached: ${messageOf(cause)}`), mayRetry: true }
  }
}
