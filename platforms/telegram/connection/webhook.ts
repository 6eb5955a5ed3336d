/**
 * Webhook mode: Telegram calls the gateway. A call is answered with 200 when its update is on disk; anything else makes
 * Telegram call again.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { HttpRoute } from '#sdk'
import type { Ingest } from '../inbound/ingest.ts'

export interface WebhookDeps {
  readonly path: string
  readonly secret: string
  ingest: Ingest
  /** Telegram has called. */
  received(): void
}

export function createWebhookRoute({ path, secret, ingest: handIn, received }: WebhookDeps): HttpRoute {
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
      // What it throws becomes a status above 400, by the server.
      await handIn([update])
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

/** Compares digests, so that the time it takes tells nothing about the secret. */
function isEqualConstantTime(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}
