/**
 * The HTTP route for events, interactions and slash commands of an app without Socket Mode.
 *
 * It responds with 200 when the payload is stored. After any other response, or none within three seconds, Slack sends the
 * payload again.
 */
import { type HttpRoute, isRecord, type PlatformContext, parseJson } from '#sdk'
import type { Ingest } from '../inbound/ingest.ts'
import { asRecord, textAt } from '../inbound/payload.ts'
import { ephemeralResponse } from '../outbound/ephemeral.ts'
import { createSignatureFailures, verifySignature } from './signature.ts'

export function webhookPath(account: string): string {
  return account === 'default' ? '/webhooks/slack' : `/webhooks/slack/${account}`
}

export function createWebhookRoute(
  { account, clock, log, connection }: Pick<PlatformContext, 'account' | 'clock' | 'log' | 'connection'>,
  signingSecret: string,
  { ingest }: Ingest,
): HttpRoute {
  const signatures = createSignatureFailures({ clock, log, health: connection.health })
  return { method: 'POST', path: webhookPath(account), access: 'own', handle }

  async function handle(request: Request): Promise<Response> {
    const body = Buffer.from(await request.arrayBuffer())
    const signed = {
      timestamp: request.headers.get('x-slack-request-timestamp'),
      signature: request.headers.get('x-slack-signature'),
      body,
    }
    if (!verifySignature(signed, signingSecret, clock())) {
      signatures.recordInvalid(/^v0=[0-9a-f]{64}$/.test(signed.signature ?? ''))
      return new Response('invalid signature', { status: 401 })
    }
    signatures.recordValid()
    const payload = parseBody(body.toString('utf8'), request.headers.get('content-type') ?? '')
    if (payload === undefined) return new Response('expected JSON or a form', { status: 400 })
    if (payload['type'] === 'url_verification') return new Response(textAt(payload, 'challenge') ?? '')
    connection.received()
    logRetry(request.headers)
    const { acknowledge, reply } = await ingest(payload)
    if (!acknowledge) return new Response('not stored, send again', { status: 503 })
    return reply === undefined ? new Response(null, { status: 200 }) : Response.json(ephemeralResponse(reply))
  }

  /** A repeated event is dropped as a duplicate. The log shows why Slack repeated it. */
  function logRetry(headers: Headers): void {
    const number = headers.get('x-slack-retry-num')
    if (number === null) return
    const reason = headers.get('x-slack-retry-reason') ?? 'unknown'
    log.info(
      { event: 'slack.event_repeated', retry: Number(number), reason: reason.slice(0, 40) },
      'Slack delivers an event again',
    )
  }
}

/** Events are JSON, slash commands a form, interactions a form with JSON in `payload`. */
function parseBody(text: string, contentType: string): Readonly<Record<string, unknown>> | undefined {
  if (!contentType.startsWith('application/x-www-form-urlencoded')) return parseObject(text)
  const form = new URLSearchParams(text)
  const payload = form.get('payload')
  return payload === null ? asRecord(Object.fromEntries(form)) : parseObject(payload)
}

function parseObject(json: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(json)
  return isRecord(value) ? value : undefined
}
