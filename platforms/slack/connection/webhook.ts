/**
 * Events, interactions and slash commands that Slack posts to us, for an app without Socket Mode.
 *
 * Slack hears 200 when what it sent is on disk. Anything else, or nothing within three seconds, and it sends it again.
 */
import type { HttpRoute, Logger, PlatformContext } from '#sdk'
import type { Ingest } from '../inbound/ingest.ts'
import { asRecord, isRecord, textAt } from '../inbound/payload.ts'
import { verifySignature } from './signature.ts'
import { createSignatureFailures } from './signature-failures.ts'

export interface WebhookDeps {
  readonly account: string
  readonly signingSecret: string
  readonly ingest: Ingest
  readonly clock: () => number
  readonly log: Logger
  readonly health: PlatformContext['health']
  /** A request of Slack's came in. */
  onActivity(): void
  /** The answer to a slash command. */
  ephemeralResponse(text: string): Readonly<Record<string, unknown>>
}

export function createWebhookRoute(deps: WebhookDeps): HttpRoute {
  const { account, signingSecret, ingest, clock, log, onActivity, ephemeralResponse } = deps
  const wrongSignatures = createSignatureFailures(deps)
  const path = account === 'default' ? '/webhooks/slack' : `/webhooks/slack/${account}`
  return { method: 'POST', path, access: 'own', handle }

  async function handle(request: Request): Promise<Response> {
    const body = Buffer.from(await request.arrayBuffer())
    const signed = {
      timestamp: request.headers.get('x-slack-request-timestamp'),
      signature: request.headers.get('x-slack-signature'),
      body,
    }
    if (!verifySignature(signed, signingSecret, clock())) {
      wrongSignatures.recordInvalid(/^v0=[0-9a-f]{64}$/.test(signed.signature ?? ''))
      return new Response('the signature is not valid', { status: 401 })
    }
    wrongSignatures.recordValid()
    const payload = parseBody(body.toString('utf8'), request.headers.get('content-type') ?? '')
    if (payload === undefined) return new Response('expected JSON or a form', { status: 400 })
    if (payload['type'] === 'url_verification') return new Response(textAt(payload, 'challenge') ?? '')
    onActivity()
    noteRetry(request.headers)
    const { acknowledge, reply } = await ingest.ingest(payload)
    if (!acknowledge) return new Response('not stored, send it again', { status: 503 })
    return reply === undefined ? new Response(null, { status: 200 }) : Response.json(ephemeralResponse(reply))
  }

  /** What was stored already is known by its key; why Slack sent it again is worth knowing. */
  function noteRetry(headers: Headers): void {
    const number = headers.get('x-slack-retry-num')
    if (number === null) return
    const reason = headers.get('x-slack-retry-reason') ?? 'unknown'
    log.info({ retry: Number(number), reason: reason.slice(0, 40) }, 'Slack delivers an event again')
  }
}

/** Events are JSON. Slash commands are a form; interactions a form with JSON in `payload`. */
function parseBody(text: string, contentType: string): Readonly<Record<string, unknown>> | undefined {
  if (!contentType.startsWith('application/x-www-form-urlencoded')) return parseJson(text)
  const form = new URLSearchParams(text)
  const payload = form.get('payload')
  return payload === null ? asRecord(Object.fromEntries(form)) : parseJson(payload)
}

function parseJson(json: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}
