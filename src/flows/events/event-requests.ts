/**
 * `GET /api/events`: one page of events, or a stream of them (`text/event-stream`).
 */
import { z } from 'zod'
import { parseInput } from '../../lib/read-shape.ts'
import type { EventFeed, EventQuery } from './event-feed.ts'
import { eventCursor, type eventsQuery } from './shapes.ts'

const lastEventHeader = z.object({ 'Last-Event-ID': eventCursor })
/** Proxies close connections that are silent for longer. */
const keepAliveMs = 15_000

/** Throws `http/bad-request`; rejects as `EventFeed.read`. */
export async function answerEvents(
  feed: EventFeed,
  { cursor, wait, session, types, limit }: z.output<typeof eventsQuery>,
  request: Request,
  stopping: AbortSignal,
): Promise<Response> {
  const query = { after: cursor, session, types, limit }
  if (request.headers.get('accept')?.includes('text/event-stream') === true) {
    const last = request.headers.get('last-event-id') ?? ''
    const after = last === '' ? cursor : parseInput(lastEventHeader, { 'Last-Event-ID': last })['Last-Event-ID']
    return eventStream(feed, { ...query, after }, request.signal, stopping)
  }
  return Response.json(await feed.read(query, wait * 1_000, request.signal))
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
