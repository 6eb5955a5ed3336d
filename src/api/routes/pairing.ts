/**
 * `/api/pairing`: the people who have access by pairing, and their requests.
 */
import { z } from 'zod'
import { defineRoutes } from '../route.ts'
import { okResponse } from '../shapes/common.ts'

const route = defineRoutes('Pairing')
const text = z.string().trim().min(1)
const role = z.enum(['member', 'owner'])

export const listPairing = route('GET', '/api/pairing', {
  summary: 'Lists people and their requests.',
  response: z.object({
    pending: z.array(
      z.looseObject({ platform: z.string(), requestId: z.string(), userId: z.string(), userName: z.string() }),
    ),
    approved: z.array(z.looseObject({ platform: z.string(), userId: z.string() })),
    locked: z.array(z.looseObject({ platform: z.string() })),
    damaged: z.array(z.string()),
  }),
  handle: async ({ opened }) => (await opened.pairing()).list(),
})

export const approvePairing = route('POST', '/api/pairing/approve', {
  summary: 'Gives a person access.',
  body: z.object({
    platform: text,
    code: text.describe('The code, or the id of a request.'),
    role: role.default('member').describe('`owner` also names the person in `roles.owners`.'),
  }),
  response: z.object({
    platform: z.string(),
    user_id: z.string(),
    user_name: z.string(),
    role: role.default('member').describe('`member` also when an owner could not be named.'),
    problem: z.string().optional().describe('What has not worked.'),
    owners_named: z.array(z.string()).optional(),
  }),
  handle: async ({ opened }, { body }) => (await opened.pairing()).approve(body.platform, body.code, body.role),
})

export const revokePairing = route('POST', '/api/pairing/revoke', {
  summary: 'Takes the access of a person back.',
  body: z.object({ platform: text, user_id: text }),
  response: okResponse,
  async handle({ opened }, { body }) {
    const admin = await opened.pairing()
    admin.revoke(body.platform, body.user_id)
    return { ok: true }
  },
})

export const denyPairing = route('POST', '/api/pairing/deny', {
  summary: 'Ends a request without an answer.',
  body: z.object({
    platform: text,
    person: text.describe('The id of the user, or of the request.'),
    via: text.default('api').describe('Named in the trace.'),
  }),
  response: z.object({ platform: z.string(), user_id: z.string(), user_name: z.string() }),
  async handle({ opened, store, clock }, { body: { platform, person, via } }) {
    const denied = (await opened.pairing()).deny(platform, person)
    const [{ denialEntry }, { addDenial }] = await Promise.all([
      import('../../flows/access/pairing-admin.ts'),
      import('../../inbox/trace.ts'),
    ])
    await store.run(() => addDenial(denialEntry(denied, via), clock()))
    return { platform: denied.platform, user_id: denied.userId, user_name: denied.userName }
  },
})

export const clearPairing = route('POST', '/api/pairing/clear', {
  summary: 'Ends the requests that wait.',
  body: z.object({ platform: text.optional() }),
  response: z.object({ cleared: z.int() }),
  handle: async ({ opened }, { body }) => ({ cleared: (await opened.pairing()).clearPending(body.platform) }),
})
