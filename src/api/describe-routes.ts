/**
 * The OpenAPI document: the routes of the gateway, with the shapes that parse the requests, and those that platforms describe. Loaded
 * with the first request for it.
 */
import { z } from 'zod'
import { buildOpenApi } from '../http/openapi.ts'
import { asRecord } from '../lib/json.ts'
import type { HttpRoute, JsonSchema, RouteDescription } from '../platforms/http-route.ts'
import type { RouteContract } from './route.ts'
import { apiRoutes } from './routes.ts'
import { errorShape, platformHealth } from './shapes/common.ts'

/** Answers with the document for the routes of now. It is built again only after platforms have changed theirs. */
export function createOpenApi(
  registered: () => readonly HttpRoute[],
  version: string,
): (url: string) => Promise<JsonSchema> {
  let built: { readonly of: readonly HttpRoute[]; readonly document: Promise<JsonSchema> } | undefined
  const build = async (routes: readonly HttpRoute[]) =>
    asRecord(await buildOpenApi(await describeRoutes(routes), { version, error: schemaOf(errorShape, 'output') }))
  return async (url) => {
    const routes = registered()
    const isCurrent = built?.of.length === routes.length && routes.every((route, index) => built?.of[index] === route)
    if (built === undefined || !isCurrent) {
      const document = build(routes)
      built = { of: routes, document }
      document.catch(() => {
        if (built?.document === document) built = undefined
      })
    }
    const { openapi, info, ...rest } = await built.document
    return { openapi, info, servers: [{ url }], ...rest }
  }
}

/** The public routes: those of the gateway itself, and those that platforms describe. */
async function describeRoutes(registered: readonly HttpRoute[]): Promise<RouteDescription[]> {
  const descriptions = new Map<string, RouteDescription>()
  const add = (description: RouteDescription) =>
    descriptions.set(`${description.method} ${description.path}`, description)
  for (const route of [...healthRoutes, ...apiRoutes]) add(describe(route))
  const describers = new Set(registered.flatMap(({ describe: ask }) => (ask === undefined ? [] : [ask])))
  for (const ask of describers) for (const description of await ask()) add(description)
  for (const route of registered)
    if (isPublicApi(route) && !isDescribed(route, [...descriptions.values()])) add(unknown(route))
  return [...descriptions.values()]
}

/** The server answers these before it looks for a route. */
const readyResponse = z.object({
  status: z.enum(['starting', 'ready', 'draining']),
  platforms: z.record(z.string(), platformHealth).optional().describe('With the token.'),
  degraded: z.array(z.string()).optional().describe('With the token: a sentence for each limitation.'),
})
const healthRoutes: readonly RouteContract[] = [
  {
    method: 'GET',
    path: '/healthz',
    access: 'public',
    tag: 'Health',
    summary: 'Whether the process runs.',
    response: z.object({ status: z.literal('ok') }),
  },
  {
    method: 'GET',
    path: '/readyz',
    access: 'public',
    tag: 'Health',
    summary: 'Whether the gateway accepts work.',
    response: readyResponse,
    alternative: { status: 503, description: 'Not ready.' },
  },
]

/** The routes below `/web`, `/cli`, `/acp` and `/batch` belong to the page, the terminal, editors and batches. */
function isPublicApi({ path }: HttpRoute): boolean {
  return /^\/(?:api|v1)\//.test(path)
}

function isDescribed({ method, path }: HttpRoute, descriptions: readonly RouteDescription[]): boolean {
  const prefix = path.replace(/\*$/, '')
  const covers = (candidate: string) => candidate === path || (prefix !== path && candidate.startsWith(prefix))
  return descriptions.some((description) => description.method === method && covers(description.path))
}

/** A route of a platform that describes nothing is shown all the same. */
function unknown({ method, path, access }: HttpRoute): RouteDescription {
  const shown = path.replace(/\*$/, '{rest}')
  const responses = { 200: { description: notDescribed } }
  return { method, path: shown, access, tag: 'Other', summary: notDescribed, responses }
}

export const notDescribed = 'Not described.'

function describe(route: RouteContract): RouteDescription {
  const { method, path, access, summary, tag, query, body, response, status = 200, alternative, events = false } = route
  const answer =
    'contentType' in response ? response : { description: 'Done.', schema: schemaOf(response, 'output'), events }
  return {
    ...{ method, path, access, summary, tag },
    ...(query === undefined ? {} : { query: schemaOf(query, 'input') }),
    ...(body === undefined ? {} : describeBody(body)),
    responses: {
      [status]: answer,
      ...(alternative === undefined
        ? {}
        : { [alternative.status]: { ...answer, description: alternative.description } }),
    },
  }
}

function describeBody(body: NonNullable<RouteContract['body']>): Pick<RouteDescription, 'body' | 'bodyType'> {
  return body === 'bytes' ? { body: {}, bodyType: 'application/octet-stream' } : { body: schemaOf(body, 'input') }
}

/** `input`: what a client may send; `output`: what it receives. */
function schemaOf(shape: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...schema } = asRecord(z.toJSONSchema(shape, { io }))
  return schema
}
