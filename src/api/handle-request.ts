/**
 * Answers the requests of the JSON API. Loaded with the first one.
 */
import type { z } from 'zod'
import { HermesError } from '../lib/errors.ts'
import { parseInput } from '../lib/parse-input.ts'
import { type ApprovalsApiDeps, decide, listPending } from './approvals.ts'
import { type ChannelsApiDeps, listChannels } from './channels.ts'
import type { ApiRequest } from './request.ts'
import { answerSessions, type SessionsApiDeps } from './sessions.ts'
import { answerWorkspaces, type WorkspacesApiDeps } from './workspaces.ts'

export interface ApiDeps extends SessionsApiDeps, ApprovalsApiDeps, ChannelsApiDeps, WorkspacesApiDeps {
  /** The OpenAPI document. @param url of the gateway, as the client has reached it */
  openApi(url: string): Promise<unknown>
}

/** Rejects `http/…`, `sessions/…`, `approvals/…` and `store/…`. */
export async function handleApiRequest(deps: ApiDeps, request: Request): Promise<Response> {
  const url = new URL(request.url)
  const [, , resource = '', ...segments] = url.pathname.split('/')
  const asked: ApiRequest = {
    method: request.method,
    path: segments.map(decodeSegment),
    query: Object.fromEntries(url.searchParams),
    body: (shape) => readBody(request, shape),
    signal: request.signal,
  }
  switch (resource) {
    case 'sessions':
      return toResponse(await answerSessions(deps, asked))
    case 'workspaces':
      return Response.json(await answerWorkspaces(deps, asked))
    case 'approvals':
      return Response.json(asked.method === 'GET' ? await listPending(deps, asked) : await decide(deps, asked))
    case 'channels':
      return Response.json(await listChannels(deps, asked))
    case 'openapi.json':
      return Response.json(await deps.openApi(url.origin))
    default:
      throw new HermesError('http/not-found', url.pathname)
  }
}

/** The content of a file is a response of its own. */
function toResponse(answer: unknown): Response {
  return answer instanceof Response ? answer : Response.json(answer)
}

/** Ids of platforms contain slashes and colons, which a client encodes. */
function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new HermesError('http/bad-request', `The path contains an invalid escape: ${segment.slice(0, 100)}`, {
      cause,
    })
  }
}

async function readBody<Shape extends z.ZodType>(request: Request, shape: Shape): Promise<z.output<Shape>> {
  const text = await request.text()
  let value: unknown
  try {
    value = text === '' ? {} : JSON.parse(text)
  } catch (cause) {
    throw new HermesError('http/bad-request', 'The body is not JSON.', { cause })
  }
  return parseInput(shape, value)
}
