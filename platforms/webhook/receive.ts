/**
 * Answers a request: verifies it, decides whether the route takes it, and stores it. The answer follows what is on disk.
 */
import { asRecord, isHermesError, messageOf } from '#sdk'
import { authenticate, type Verified } from './authenticate.ts'
import type { Deferred } from './deferred.ts'
import { type Delivery, namesOf, serializeDelivery } from './delivery.ts'
import { matchesAll } from './filters.ts'
import { eventTypeOf, type Payload, readPayload } from './payload.ts'
import { createRateLimit } from './rate-limit.ts'
import { insecure, type Route } from './route.ts'
import { renderKey } from './template.ts'
import type { Webhooks } from './webhooks.ts'
import { startTurn } from './work.ts'

/** More events that wait are not accepted. */
const maxWaiting = 10_000
const logIntervalMs = 60_000

export function createReceive(
  { context, automation, routes }: Webhooks,
  deferred: Deferred,
): (request: Request) => Promise<Response> {
  const { clock, log } = context
  const rateLimit = createRateLimit(positiveOption('rate_limit', 30), clock)
  const maxBodyBytes = positiveOption('max_body_bytes', 1_048_576)
  let refusedAt = Number.NEGATIVE_INFINITY
  let refused = 0

  /** Anyone can send them. */
  function logRefused(route: string): void {
    refused += 1
    if (clock() - refusedAt < logIntervalMs) return
    log.warn(
      { event: 'webhook.unauthorised', route, count: refused },
      'requests without a valid signature were refused',
    )
    refusedAt = clock()
    refused = 0
  }

  return async (request) => {
    const name = new URL(request.url).pathname.slice('/webhooks/'.length)
    const route = await routes.find(name)
    if (route === undefined) return answer(404, { error: 'There is no such route.' })
    const declared = Number(request.headers.get('content-length') ?? 0)
    const tooLarge = { error: `The body has more than ${maxBodyBytes} bytes.` }
    if (declared > maxBodyBytes) return answer(413, tooLarge)
    const body = new Uint8Array(await request.arrayBuffer())
    if (body.length > maxBodyBytes) return answer(413, tooLarge)
    const verified = verify(route, request.headers, body)
    if (!verified.ok) {
      logRefused(name)
      return answer(401, { error: 'The signature is missing or invalid.' })
    }
    const waitSeconds = rateLimit.take(name)
    if (waitSeconds > 0) {
      const headers = { 'retry-after': String(waitSeconds) }
      return answer(429, { error: 'The route accepts no more events in this minute.' }, headers)
    }
    context.connection.received()
    const payload = readPayload(new TextDecoder().decode(body), request.headers.get('content-type') ?? '')
    if (payload === undefined) return answer(400, { error: 'The body is neither a JSON object nor a form.' })
    return await take(route, request, body, payload, verified)
  }

  function positiveOption(key: string, usual: number): number {
    const value = asRecord(context.options['extra'])[key] ?? context.options[key]
    return typeof value === 'number' && value > 0 ? value : usual
  }

  function verify(route: Route, headers: Headers, body: Uint8Array): Verified {
    if (route.secret !== insecure) return authenticate({ headers, body }, route.secret, clock())
    // Behind a proxy, anyone may be the sender.
    const isForwarded = headers.has('x-forwarded-for') || headers.has('forwarded')
    return automation.listensLocally() && !isForwarded ? { ok: true, stamp: '', isBodyUnique: false } : { ok: false }
  }

  async function take(
    route: Route,
    request: Request,
    body: Uint8Array,
    payload: Payload,
    verified: Extract<Verified, { ok: true }>,
  ): Promise<Response> {
    const { headers } = request
    const event = eventTypeOf(headers, payload)
    if (route.events.length > 0 && !route.events.includes(event)) return ignored('event')
    try {
      const isWanted = await matchesAll(route.filters, { payload, event, headers, home: context.home })
      if (!isWanted) return ignored('filter')
    } catch (error) {
      log.warn({ event: 'webhook.filter_failed', route: route.name, reason: messageOf(error) }, 'a filter has failed')
      return answer(503, { error: 'A filter of the route has failed.' }, { 'retry-after': '60' })
    }
    const { id, keys } = namesOf(route.name, headers, body, verified)
    const delivery: Delivery = { route: route.name, id, event, payload }
    return isDeferred(route) ? await defer(route, delivery, keys) : await start(route, delivery, keys, request.signal)
  }

  async function start(
    route: Route,
    delivery: Delivery,
    keys: readonly string[],
    signal: AbortSignal,
  ): Promise<Response> {
    try {
      const result = await startTurn(context, automation, { route, delivery, keys, superseded: 0 }, signal)
      if (result.kind !== 'failed') return stored(result.kind, delivery)
      log.warn({ event: 'webhook.failed', key: keys[0] ?? '', reason: result.reason }, 'an event was not accepted')
      return answer(502, { error: 'The event cannot be delivered.' })
    } catch (error) {
      if (isHermesError(error, 'inbox/too-large')) return answer(413, { error: error.message })
      throw error
    }
  }

  async function defer(route: Route, delivery: Delivery, keys: readonly [string, ...string[]]): Promise<Response> {
    if (deferred.size() >= maxWaiting) return answer(503, { error: 'Too many events wait.' }, { 'retry-after': '60' })
    const subject = route.coalesce === undefined ? undefined : renderKey(route.coalesce.key, delivery.payload)
    const group = subject === undefined ? `${route.name} ${keys[0]}` : `${route.name}\n${subject.slice(0, 500)}`
    const status = await automation.deliveries.store({ keys, group, body: serializeDelivery(delivery) })
    if (status === 'accepted') void deferred.added(keys[0], group)
    if (status === 'accepted' && subject !== undefined) return stored('coalesced', delivery)
    return stored(status, delivery)
  }
}

/** Whether more is to be done than to start a turn. */
function isDeferred({ script, deliverOnly, cronJob, coalesce }: Route): boolean {
  return script !== '' || deliverOnly || cronJob !== '' || coalesce !== undefined
}

function stored(status: 'accepted' | 'coalesced' | 'duplicate', { route, event, id }: Delivery): Response {
  return answer(status === 'duplicate' ? 200 : 202, { status, route, event, delivery_id: id })
}

function ignored(reason: 'event' | 'filter'): Response {
  return answer(200, { status: 'ignored', reason })
}

function answer(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(body, { status, headers })
}
