/**
 * `GET /api/events`: one page of events, or a stream of them (`text/event-stream`).
 */
import { HermesError } from '../../lib/errors.ts'
import { type ApiEventType, apiEventTypes, isApiEventType } from './api-event.ts'
import type { EventFeed, EventQuery } from './event-feed.ts'

const maxWaitSeconds = 300
const defaultLimit = 200
const maxLimit = 500
/** Proxies close connections that are silent for longer. */
const keepAliveMs = 15_000

/** Throws `http/bad-request`; rejects as `EventFeed.read`. */
export async function handleEventRequest(request: Request, feed: EventFeed, stopping: AbortSignal): Promise<Response> {
  const params = new URL(request.url).searchParams
  const query = parseQuery(params)
  if (request.headers.get('accept')?.includes('text/event-stream') === true) {
    const last = request.headers.get('last-event-id') ?? ''
    const after = last === '' ? query.after : parseCursor('Last-Event-ID', last)
    return eventStream(feed, { ...query, after }, request.signal, stopping)
  }
  return Response.json(await feed.read(query, parseWait(params.get('wait')) * 1_000, request.signal))
}

function parseQuery(params: URLSearchParams): EventQuery {
  const cursor = params.get('cursor')
  const session = params.get('session')
  return {
    ...(cursor === null || cursor === '' ? {} : { after: parseCursor('cursor', cursor) }),
    ...(session === null || session === '' ? {} : { session }),
    types: parseTypes(params.get('types') ?? ''),
    limit: parseLimit(params.get('limit')),
  }
}

function parseCursor(field: string, text: string): number {
  const cursor = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(cursor)) return cursor
  throw new HermesError('http/bad-request', `${field}: expected a cursor of an earlier response.`)
}

function parseTypes(text: string): ReadonlySet<ApiEventType> {
  const types = new Set<ApiEventType>()
  for (const name of text.split(',').map((part) => part.trim())) {
    if (name === '') continue
    if (!isApiEventType(name))
      throw new HermesError('http/bad-request', `types: expected some of ${apiEventTypes.join(', ')}.`)
    types.add(name)
  }
  return types
}

function parseLimit(text: string | null): number {
  const limit = Number(text ?? defaultLimit)
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= maxLimit) return limit
  throw new HermesError('http/bad-request', `limit: expected a whole number from 1 to ${maxLimit}.`)
}

function parseWait(text: string | null): number {
  const seconds = Number(text ?? 0)
  if (text !== '' && seconds >= 0 && seconds <= maxWaitSeconds) return seconds
  throw new HermesError('http/bad-request', `wait: expected seconds from 0 to ${maxWaitSeconds}.`)
}

/** Reads on as fast as the client reads. */
function eventStream(feed: EventFeed, query: EventQuery, signal: AbortSignal, stopping: AbortSignal): Response {
  const encoder = new TextEncoder()
  const ended = new AbortController()
  const until = AbortSignal.any([signal, ended.signal])
  let after = query.after
  let isFirst = true
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // The first page is sent at once, so that the client has a cursor.
        const page = await feed.read({ ...query, after }, isFirst ? 0 : keepAliveMs, until)
        isFirst = false
        after = Number(page.next_cursor)
        const missed = page.missed ? ['event: missed\ndata: {"missed":true}\n\n'] : []
        const events = page.events.map(
          (event) => `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
        )
        // A field without data moves the position of the client, and keeps the connection open.
        controller.enqueue(encoder.encode([...missed, ...events, `id: ${page.next_cursor}\n\n`].join('')))
        if (until.aborted || stopping.aborted) controller.close()
      },
      cancel: () => ended.abort(),
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store' } })
}
