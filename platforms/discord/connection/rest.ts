/**
 * Configures the REST client of discord.js.
 */

import { REST, type RESTOptions } from 'discord.js'
import { parseJson } from '#sdk'
import { asRecord } from '../inbound/payload.ts'
import type { DiscordOptions } from '../options.ts'

export function createRest(options: DiscordOptions): REST {
  return new REST(restOptions(options)).setToken(options.token)
}

/** discord.js sweeps the caches of its client on timers, which would keep the process alive. */
export function closeRest(rest: REST): void {
  rest.clearHashSweeper()
  rest.clearHandlerSweeper()
}

/** Without retries and without waiting for rate limits: only the outbox repeats a call. */
export function restOptions({ apiUrl }: DiscordOptions): Partial<RESTOptions> {
  return {
    api: apiUrl,
    version: '10',
    retries: 0,
    offset: 0,
    timeout: 30_000,
    rejectOnRateLimit: () => true,
    makeRequest: async (url, { method, headers, body, signal }) =>
      withExactRetryAfter(
        await fetch(url, {
          ...(method === undefined ? {} : { method }),
          signal: signal ?? null,
          headers: new Headers(Object.entries(asRecord(headers)).map(([name, value]) => [name, String(value)])),
          ...(typeof body === 'string' || body instanceof FormData ? { body } : {}),
        }),
      ),
  }
}

/** The header rounds the wait up to whole seconds; the body has the exact value. */
async function withExactRetryAfter(response: Response): Promise<Response> {
  if (response.status !== 429) return response
  const text = await response.text()
  const headers = new Headers(response.headers)
  // A rate limit of the proxy in front of Discord has no JSON body, only the header.
  const wait = asRecord(parseJson(text))['retry_after']
  if (typeof wait === 'number' && wait > 0) headers.set('retry-after', String(wait))
  return new Response(text, { status: response.status, statusText: response.statusText, headers })
}
