/**
 * `/api/sessions`: stored sessions, their messages and the files of these.
 */
import { defineRoutes } from '../route.ts'
import * as shapes from '../shapes/sessions.ts'

const load = () => import('../handlers/sessions.ts')
const route = defineRoutes('Sessions')

export const listSessions = route('GET', '/api/sessions', {
  summary: 'Lists sessions, the one that was used last first.',
  query: shapes.sessionsQuery,
  response: shapes.sessionsPage,
  handle: async (services, { query, signal }) => (await load()).listSessions(services, query, signal),
})

export const showSession = route('GET', '/api/sessions/{session_id}', {
  summary: 'Shows a session.',
  response: shapes.sessionResponse,
  handle: async (services, { params, signal }) => (await load()).showSession(services, params.session_id, signal),
})

export const changeSession = route('PATCH', '/api/sessions/{session_id}', {
  summary: 'Renames or pins a session.',
  body: shapes.changeBody,
  response: shapes.sessionResponse,
  async handle(services, { params: { session_id: id }, body, signal }) {
    await (await import('../handlers/change-sessions.ts')).changeSession(services, id, body)
    return await (await load()).showSession(services, id, signal)
  },
})

export const deleteSession = route('DELETE', '/api/sessions/{session_id}', {
  summary: 'Removes a session and its messages.',
  response: shapes.deletedResponse,
  async handle(services, { params: { session_id: id } }) {
    await (await import('../handlers/change-sessions.ts')).deleteSession(services, id)
    return { ok: true, id }
  },
})

export const forkSession = route('POST', '/api/sessions/{session_id}/fork', {
  summary: 'Copies a session, also into a chat that goes on with it.',
  body: shapes.forkBody,
  response: shapes.sessionResponse,
  async handle(services, { params, body, signal }) {
    const changes = await import('../handlers/change-sessions.ts')
    const copy = await changes.forkSession(services, params.session_id, body)
    return await (await load()).showSession(services, copy, signal)
  },
})

export const showUsage = route('GET', '/api/sessions/{session_id}/usage', {
  summary: 'How much of its window a conversation fills, and what it has cost.',
  response: shapes.usageResponse,
  handle: async (services, { params }) =>
    (await import('../handlers/session-usage.ts')).showUsage(services, params.session_id),
})

export const showTrajectory = route('GET', '/api/sessions/{session_id}/trajectory', {
  summary: 'The conversation in the ShareGPT form.',
  response: shapes.trajectoryResponse,
  handle: async (services, { params, signal }) => (await load()).readTrajectory(services, params.session_id, signal),
})

export const listMessages = route('GET', '/api/sessions/{session_id}/messages', {
  summary: 'Lists the messages of a session.',
  query: shapes.messagesQuery,
  response: shapes.messagesPage,
  handle: async (services, { params, query, signal }) =>
    (await load()).listMessages(services, params.session_id, query, signal),
})

export const showMessage = route('GET', '/api/sessions/{session_id}/messages/{message_id}', {
  summary: 'Shows a message with its whole text.',
  response: shapes.messageResponse,
  handle: async (services, { params, signal }) => (await load()).readMessage(services, params, signal),
})

export const openAttachment = route('GET', '/api/sessions/{session_id}/messages/{message_id}/attachments/{number}', {
  summary: 'A file of a message.',
  response: { contentType: 'application/octet-stream', description: 'Only files that people sent are kept.' },
  handle: async (services, { params, signal }) => (await load()).openAttachment(services, params, signal),
})
