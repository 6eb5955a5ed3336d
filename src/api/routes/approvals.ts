/**
 * `/api/approvals`: the questions of all chats that wait for an answer, and what runs without a question.
 */
import { z } from 'zod'
import { HermesError } from '../../lib/errors.ts'
import { defineRoutes } from '../route.ts'
import { decideBody, decidedResponse, pendingQuery, pendingResponse } from '../shapes/approvals.ts'
import { okResponse } from '../shapes/common.ts'

const route = defineRoutes('Approvals')

export const listPending = route('GET', '/api/approvals/pending', {
  summary: 'Lists the questions that wait for an answer.',
  query: pendingQuery,
  response: pendingResponse,
  handle: async (services, { query, signal }) =>
    (await import('../handlers/approvals.ts')).listPending(services, query, signal),
})

export const decide = route('POST', '/api/approvals/decide', {
  summary: 'Answers a question.',
  body: decideBody,
  response: decidedResponse,
  handle: async (services, { body }) => (await import('../handlers/approvals.ts')).decide(services, body),
})

export const listRemembered = route('GET', '/api/approvals', {
  summary: 'Lists what runs without a question.',
  response: z.array(
    z.object({
      id: z.string().describe('For `POST /api/approvals/revoke`.'),
      covers: z.string(),
      where: z.string(),
      by: z.string(),
    }),
  ),
  handle: async (services) => (await import('../handlers/remembered-approvals.ts')).listRemembered(services),
})

export const revokeRemembered = route('POST', '/api/approvals/revoke', {
  summary: 'Takes back an approval of that list.',
  body: z.object({
    id: z
      .union([z.string().min(1), z.int()])
      .transform((id) => (typeof id === 'number' ? `g${id}` : id))
      .describe('An id of the list, or the number of a grant.'),
  }),
  response: okResponse,
  async handle(services, { body: { id } }) {
    if (!(await (await import('../handlers/remembered-approvals.ts')).revokeRemembered(services, id)))
      throw new HermesError('http/not-found', `Nothing is remembered as ${JSON.stringify(id)}.`)
    return { ok: true }
  },
})
