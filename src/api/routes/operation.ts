/**
 * The dead letters of the gateway, its pause and its stop.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import type { SessionKey } from '../../message/ids.ts'
import { defineRoutes } from '../route.ts'
import { okResponse } from '../shapes/common.ts'
import { traceResponse } from '../shapes/trace.ts'

const route = defineRoutes('Operation')
const accepted = { response: okResponse, status: 202 } as const
const millis = z.number().describe('ms since 1970')

const onRow = { body: z.object({ id: z.int().describe('The number of the row.') }), response: okResponse }
const maxListRows = 200

export const listInbox = route('GET', '/api/inbox', {
  summary: 'Lists open messages and dead letters.',
  response: z.array(
    z.looseObject({
      seq: z.int(),
      session_key: z.string(),
      platform: z.string(),
      chat_id: z.string(),
      state: z.string(),
      tries: z.int(),
      reason: z.string().nullable(),
      accepted_at: millis,
    }),
  ),
  async handle({ store }) {
    const [{ rows }, { listUnfinishedEvents }] = await Promise.all([
      import('../../store/query.ts'),
      import('../../inbox/dead-letters.ts'),
    ])
    return await store.run(() => rows(listUnfinishedEvents, { limit: maxListRows }))
  },
})

export const retryInbox = route('POST', '/api/inbox/retry', {
  summary: 'Retries a message.',
  ...onRow,
  async handle({ store, engine, clock }, { body: { id } }) {
    const [{ retryDeadEvent }, { brand }] = await Promise.all([
      import('../../inbox/dead-letters.ts'),
      import('../../lib/ids.ts'),
    ])
    const retried = await store.run(() => retryDeadEvent(id, clock()))
    if (retried === undefined) throw rowNotFound(id)
    engine.wake(brand<SessionKey>(retried.session_key), retried.lane)
    return { ok: true }
  },
})

export const dropInbox = route('POST', '/api/inbox/drop', {
  summary: 'Drops a message.',
  ...onRow,
  async handle({ store }, { body: { id } }) {
    const { dropDeadEvent } = await import('../../inbox/dead-letters.ts')
    return okIf(await store.run(() => dropDeadEvent(id)), id)
  },
})

export const showTrace = route('GET', '/api/trace/{subject}', {
  summary: 'Where a message is, and how it came there: its number, the id of its turn, or `last`.',
  response: traceResponse,
  async handle({ store, clock }, { params: { subject } }) {
    const { readTrace } = await import('../../flows/trace/read-trace.ts')
    const trace = await store.run(() => readTrace(subject, clock()))
    if (trace === undefined) throw new HermesError('http/not-found', `There is no message or turn ${subject}.`)
    return trace
  },
})

export const listOutbox = route('GET', '/api/outbox', {
  summary: 'Lists dead letters of the outbox.',
  response: z.array(
    z.looseObject({
      id: z.int(),
      platform: z.string(),
      chat_id: z.string(),
      text: z.string(),
      tries: z.int(),
      error: z.string().nullable(),
      created_at: millis,
    }),
  ),
  handle: async ({ outbox }) => await outbox.list(),
})

export const retryOutbox = route('POST', '/api/outbox/retry', {
  summary: 'Retries a reply.',
  ...onRow,
  handle: async ({ outbox }, { body: { id } }) => okIf(await outbox.retry(id), id),
})

export const dropOutbox = route('POST', '/api/outbox/drop', {
  summary: 'Drops a reply.',
  ...onRow,
  handle: async ({ outbox }, { body: { id } }) => okIf(await outbox.drop(id), id),
})

export const pauseAgent = route('POST', '/api/pause', {
  summary: 'Pauses the agent, or ends the pause.',
  body: z.union([
    z.object({ off: z.literal(true) }).describe('Ends the pause.'),
    z.object({ off: z.literal(false).optional(), reason: z.string() }),
  ]),
  response: okResponse,
  async handle({ lifecycle }, { body }) {
    if (body.off === true) return { ok: await lifecycle.resume() }
    await lifecycle.pause(body.reason)
    return { ok: true }
  },
})

export const restartGateway = route('POST', '/api/restart', {
  summary: 'Restarts the gateway.',
  ...accepted,
  async handle({ lifecycle }) {
    await lifecycle.restart()
    return { ok: true }
  },
})

export const shutDownGateway = route('POST', '/api/shutdown', {
  summary: 'Stops the gateway.',
  ...accepted,
  async handle({ lifecycle }) {
    lifecycle.shutdown()
    return { ok: true }
  },
})

export const showOpenApi = route('GET', '/api/openapi.json', {
  summary: 'This document.',
  response: z.looseObject({ openapi: z.string() }),
  handle: async ({ lifecycle }, { request }) => Response.json(await lifecycle.openApi(new URL(request.url).origin)),
})

function okIf(exists: boolean, id: number): { ok: true } {
  if (!exists) throw rowNotFound(id)
  return { ok: true }
}

function rowNotFound(id: number): HermesError {
  return new HermesError('http/not-found', `There is nothing with the number ${id}.`)
}
