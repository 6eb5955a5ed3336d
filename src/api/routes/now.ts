/**
 * What happens now, what waits, and when something has changed.
 */
import { z } from 'zod'
import { defineRoutes } from '../route.ts'
import { okResponse } from '../shapes/common.ts'
import { nowResponse, queueQuery, queueResponse } from '../shapes/now.ts'

const route = defineRoutes('Operation')

export const showNow = route('GET', '/api/now', {
  summary: 'The platforms with their last events, the open turns, and the lengths of the queues.',
  response: nowResponse,
  handle: async (services, { signal }) => (await import('../handlers/now.ts')).showNow(services, signal),
})

export const listQueue = route('GET', '/api/queue', {
  summary: 'Lists the messages or the replies that wait, or that are dead letters, the newest first.',
  query: queueQuery,
  response: queueResponse,
  handle: async (services, { query, signal }) =>
    (await import('../handlers/now.ts')).listQueue(services, query, signal),
})

export const stopTurn = route('POST', '/api/turns/stop', {
  summary: 'Stops an open turn.',
  body: z.strictObject({ turn_id: z.string().min(1).max(200) }),
  response: okResponse,
  handle: async (services, { body, signal }) => (await import('../handlers/now.ts')).stopTurn(services, body, signal),
})

export const streamChanges = route('GET', '/api/changes', {
  summary: 'A stream of JSON lines that name what has changed, so that a client need not poll.',
  response: {
    contentType: 'application/x-ndjson',
    description:
      'Lines with `type` (`ready` first, then `changed` and `ping`) and `topics`. A topic is what a path of the API calls it, such as `jobs`.',
  },
  handle: async (services, { signal }) => (await import('../handlers/now.ts')).streamChanges(services, signal),
})
