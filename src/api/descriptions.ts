/**
 * Describes the public routes of the gateway for the OpenAPI document, with the shapes that parse the requests. Loaded with the first
 * request for the document.
 */
import { z } from 'zod'
import { jobActionSchema } from '../flows/cron/job-actions.ts'
import { sendBody } from '../flows/delivery/send-request.ts'
import { eventsPage, eventsQuery } from '../flows/events/shapes.ts'
import { asRecord } from '../lib/json.ts'
import type { HttpRoute, JsonSchema, RouteDescription } from '../platforms/adapter.ts'
import * as admin from './management-shapes.ts'
import * as api from './shapes.ts'

interface Parts {
  readonly query?: z.ZodType
  readonly body?: z.ZodType
  /** Default: 200. */
  readonly status?: number
  readonly access?: RouteDescription['access']
  /** Whether the response also comes as server-sent events. */
  readonly events?: boolean
  /** Further responses. */
  readonly also?: RouteDescription['responses']
}

/** The public routes: those of the gateway itself, and those that platforms describe. */
export async function describeRoutes(registered: readonly HttpRoute[]): Promise<RouteDescription[]> {
  const found = new Map<string, RouteDescription>()
  const add = (description: RouteDescription) => found.set(`${description.method} ${description.path}`, description)
  for (const one of gatewayDescriptions()) add(one)
  const describers = new Set(registered.flatMap(({ describe: ask }) => (ask === undefined ? [] : [ask])))
  for (const ask of describers) for (const one of await ask()) add(one)
  for (const route of registered)
    if (isPublicApi(route) && !isDescribed(route, [...found.values()])) add(unknown(route))
  return [...found.values()]
}

/** The routes below `/web`, `/cli`, `/acp` and `/batch` belong to the page, the terminal, editors and batches. */
function isPublicApi({ path }: HttpRoute): boolean {
  return /^\/(?:api|v1)\//.test(path)
}

function isDescribed({ method, path }: HttpRoute, descriptions: readonly RouteDescription[]): boolean {
  const prefix = path.replace(/\*$/, '')
  const covers = (one: string) => one === path || (prefix !== path && one.startsWith(prefix))
  return descriptions.some((one) => one.method === method && covers(one.path))
}

/** A route of a platform that describes nothing is shown all the same. */
function unknown({ method, path, access: who }: HttpRoute): RouteDescription {
  const shown = path.replace(/\*$/, '{rest}')
  return {
    method,
    path: shown,
    access: who,
    tag: 'Other',
    summary: notDescribed,
    responses: { 200: { description: notDescribed } },
  }
}

export const notDescribed = 'Not described.'

function gatewayDescriptions(): RouteDescription[] {
  return [...health(), ...sessions(), ...questions(), ...work(), ...extensions(), ...access(), ...operation()]
}

export function errorSchema(): JsonSchema {
  return schemaOf(admin.errorShape, 'output')
}

function describe(
  tag: string,
  route: `${RouteDescription['method']} /${string}`,
  summary: string,
  response: z.ZodType,
  { query, body, status = 200, access = 'token', events = false, also = {} }: Parts = {},
): RouteDescription {
  const [method = '', path = ''] = route.split(' ')
  if (!isMethod(method)) throw new Error(`unknown method in ${route}`)
  return {
    method,
    path,
    access,
    summary,
    tag,
    ...(query === undefined ? {} : { query: schemaOf(query, 'input') }),
    ...(body === undefined ? {} : { body: schemaOf(body, 'input') }),
    responses: { [status]: { description: 'Done.', schema: schemaOf(response, 'output'), events }, ...also },
  }
}

function isMethod(text: string): text is RouteDescription['method'] {
  return text === 'GET' || text === 'POST' || text === 'PATCH' || text === 'DELETE'
}

/** `input`: what a client may send; `output`: what it receives. */
function schemaOf(shape: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...schema } = asRecord(z.toJSONSchema(shape, { io }))
  return schema
}

function health(): RouteDescription[] {
  const open = { access: 'public' } as const
  const notReady = { 503: { description: 'Not ready.', schema: schemaOf(admin.readyResponse, 'output') } }
  return [
    describe('Health', 'GET /healthz', 'Whether the process runs.', admin.healthResponse, open),
    describe('Health', 'GET /readyz', 'Whether the gateway accepts work.', admin.readyResponse, {
      ...open,
      also: notReady,
    }),
    describe('Health', 'GET /api/status', 'The state of the gateway.', admin.statusResponse),
  ]
}

function sessions(): RouteDescription[] {
  const one = '/api/sessions/{session_id}'
  const tag = 'Sessions'
  return [
    describe(tag, 'GET /api/sessions', 'Lists sessions, the one that was used last first.', api.sessionsPage, {
      query: api.sessionsQuery,
    }),
    describe(tag, `GET ${one}`, 'Shows a session.', api.sessionResponse),
    describe(tag, `PATCH ${one}`, 'Renames a session.', api.sessionResponse, { body: api.renameBody }),
    describe(tag, `DELETE ${one}`, 'Removes a session and its messages.', api.deletedResponse),
    describe(tag, `POST ${one}/fork`, 'Copies a session.', api.sessionResponse, { body: api.forkBody }),
    describe(tag, `GET ${one}/trajectory`, 'The conversation in the ShareGPT form.', api.trajectoryResponse),
    describe(tag, `GET ${one}/messages`, 'Lists the messages of a session.', api.messagesPage, {
      query: api.messagesQuery,
    }),
    describe(tag, `GET ${one}/messages/{message_id}`, 'Shows a message with its whole text.', api.messageResponse),
    {
      ...describe(tag, `GET ${one}/messages/{message_id}/attachments/{number}`, 'A file of a message.', z.unknown()),
      responses: {
        200: { description: 'Only files that people sent are kept.', contentType: 'application/octet-stream' },
      },
    },
  ]
}

function questions(): RouteDescription[] {
  const tag = 'Approvals'
  return [
    describe(tag, 'GET /api/approvals/pending', 'Lists the questions that wait for an answer.', api.pendingResponse, {
      query: api.pendingQuery,
    }),
    describe(tag, 'POST /api/approvals/decide', 'Answers a question.', api.decidedResponse, { body: api.decideBody }),
    describe(tag, 'GET /api/approvals', 'Lists what runs without a question.', admin.rememberedResponse),
    describe(tag, 'POST /api/approvals/revoke', 'Takes back an approval of that list.', admin.okResponse, {
      body: admin.revokeBody,
    }),
  ]
}

function work(): RouteDescription[] {
  const upload = '/api/uploads/{upload_id}'
  const workspace = '/api/workspaces/{platform}/{chat_id}'
  return [
    describe(
      'Messages',
      'GET /api/events',
      'Tells what happened, or waits for it. With `Accept: text/event-stream` as server-sent events.',
      eventsPage,
      { query: eventsQuery, events: true },
    ),
    describe('Messages', 'GET /api/channels', 'Lists the chats to which messages can be sent.', api.channelsPage, {
      query: api.channelsQuery,
    }),
    describe('Sessions', `GET ${workspace}`, 'Shows in which folder a conversation works.', api.workspaceResponse),
    describe('Sessions', `POST ${workspace}`, 'Changes in which folder a conversation works.', api.workspaceResponse, {
      body: api.workspaceBody,
    }),
    describe('Messages', 'POST /api/send', 'Sends a message to chats.', admin.sendResponse, { body: sendBody }),
    describe('Messages', 'GET /api/commands', 'Lists the slash commands for menus.', admin.commandsResponse),
    describe('Scheduled jobs', 'GET /api/jobs', 'Lists the jobs, the next one first.', admin.jobsResponse, {
      query: admin.jobsQuery,
    }),
    describe('Scheduled jobs', 'POST /api/jobs', 'Creates or changes a job.', admin.jobsResponse, {
      body: jobActionSchema,
    }),
    describe('Uploads', 'GET /api/uploads', 'The limits of uploads.', admin.uploadLimits),
    describe('Uploads', 'POST /api/uploads', 'Begins an upload.', admin.uploadResponse, {
      body: admin.uploadBody,
      status: 201,
    }),
    describe('Uploads', `GET ${upload}`, 'The state of an upload.', admin.uploadResponse),
    {
      ...describe('Uploads', `POST ${upload}`, 'Adds a piece, the bytes of the body.', admin.uploadResponse, {
        query: admin.pieceQuery,
      }),
      ...{ body: {}, bodyType: 'application/octet-stream' },
    },
    describe('Uploads', `DELETE ${upload}`, 'Removes an upload.', admin.okResponse),
  ]
}

function extensions(): RouteDescription[] {
  const hook = { body: admin.hookBody }
  return [
    describe('Extensions', 'GET /api/hooks', 'Lists hooks and their processes.', admin.hooksResponse),
    describe('Extensions', 'POST /api/hooks/pause', 'Pauses a hook.', admin.okResponse, hook),
    describe('Extensions', 'POST /api/hooks/resume', 'Resumes a hook.', admin.okResponse, hook),
    describe('Extensions', 'POST /api/hooks/reload', 'Reads again which programs are accepted.', admin.okResponse),
    describe('Extensions', 'POST /api/hooks/test', 'Calls a hook.', admin.hookTestResponse, {
      body: admin.hookTestBody,
    }),
    describe('Extensions', 'GET /api/plugins', 'Lists plugins.', admin.pluginsResponse),
    describe('Extensions', 'POST /api/plugins/reload', 'Applies config.yaml.', admin.pluginsResponse),
    describe('Extensions', 'GET /api/tools', 'Lists the tools of the agent.', admin.toolsResponse),
    describe('Extensions', 'GET /api/prompt', 'Shows the prompt of a new conversation.', admin.promptResponse, {
      query: admin.promptQuery,
    }),
  ]
}

function access(): RouteDescription[] {
  return [
    describe('Pairing', 'GET /api/pairing', 'Lists people and their requests.', admin.pairingResponse),
    describe('Pairing', 'POST /api/pairing/approve', 'Gives a person access.', admin.pairingApproveResponse, {
      body: admin.pairingApproveBody,
    }),
    describe('Pairing', 'POST /api/pairing/revoke', 'Takes the access of a person back.', admin.okResponse, {
      body: admin.pairingRevokeBody,
    }),
    describe('Pairing', 'POST /api/pairing/deny', 'Ends a request without an answer.', admin.pairingDenyResponse, {
      body: admin.pairingDenyBody,
    }),
    describe('Pairing', 'POST /api/pairing/clear', 'Ends the requests that wait.', admin.pairingClearResponse, {
      body: admin.pairingClearBody,
    }),
  ]
}

function operation(): RouteDescription[] {
  const tag = 'Operation'
  const row = { body: admin.rowBody }
  return [
    describe(tag, 'GET /api/inbox', 'Lists open messages and dead letters.', admin.inboxResponse),
    describe(tag, 'POST /api/inbox/retry', 'Retries a message.', admin.okResponse, row),
    describe(tag, 'POST /api/inbox/drop', 'Drops a message.', admin.okResponse, row),
    describe(tag, 'GET /api/outbox', 'Lists dead letters of the outbox.', admin.outboxResponse),
    describe(tag, 'POST /api/outbox/retry', 'Retries a reply.', admin.okResponse, row),
    describe(tag, 'POST /api/outbox/drop', 'Drops a reply.', admin.okResponse, row),
    describe(tag, 'POST /api/pause', 'Pauses the agent, or ends the pause.', admin.okResponse, {
      body: admin.pauseBody,
    }),
    describe(tag, 'POST /api/restart', 'Restarts the gateway.', admin.okResponse, { status: 202 }),
    describe(tag, 'POST /api/shutdown', 'Stops the gateway.', admin.okResponse, { status: 202 }),
    describe(tag, 'GET /api/openapi.json', 'This document.', z.looseObject({ openapi: z.string() })),
  ]
}
