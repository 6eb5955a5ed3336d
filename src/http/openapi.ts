/**
 * Builds the OpenAPI document from the descriptions of routes. A second server, which never listens, collects them for
 * `@fastify/swagger`. Both are loaded with the first request for the document.
 */
import swagger from '@fastify/swagger'
import { fastify } from 'fastify'
import type { JsonObject } from '../lib/json.ts'
import type { RouteDescription } from '../platforms/http-route.ts'

const license = { name: 'MIT', identifier: 'MIT' }

export interface OpenApiOptions {
  readonly version: string
  /** The schema of the body of an error. */
  readonly error: JsonObject
}

const about = `Everything that a client of the gateway needs: conversations, questions, scheduled jobs, and the API of OpenAI. Send the token
of the gateway as \`Authorization: Bearer <token>\`.`

/** A document without `servers`. Rejects with the error of a description that is not valid. */
export async function buildOpenApi(
  routes: readonly RouteDescription[],
  { version, error }: OpenApiOptions,
): Promise<unknown> {
  const app = fastify({ logger: false, exposeHeadRoutes: false })
  // The descriptions are shown only: requests go to the other server.
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'hermes-gateway', version, description: about.replace('\n', ' '), license },
      components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } },
    },
    refResolver: { buildLocalReference: (schema) => String(schema['$id']) },
  })
  app.addSchema({ $id: 'Error', ...error })
  for (const { method, path, access, ...description } of routes)
    app.route({
      method,
      url: path.replace(/\{(\w+)\}/g, ':$1'),
      schema: { operationId: operationId(method, path), ...toSchema(path, access, description) },
      handler: () => undefined,
    })
  await app.ready()
  const document = app.swagger()
  await app.close()
  return document
}

/** The name of a function in a generated client: `getApiSessionsSessionId`. */
function operationId(method: string, path: string): string {
  const words = path.split(/\W|_/).map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
  return `${method.toLowerCase()}${words.join('')}`
}

function toSchema(
  path: string,
  access: RouteDescription['access'],
  {
    summary,
    tag,
    query,
    body,
    bodyType = 'application/json',
    responses,
  }: Omit<RouteDescription, 'method' | 'path' | 'access'>,
): object {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  const failures =
    access === 'token'
      ? { '4xx': failure('The request was refused.'), '5xx': failure('The gateway could not answer it.') }
      : {}
  return {
    summary,
    tags: [tag],
    security: access === 'token' ? [{ token: [] }] : [],
    ...(query === undefined ? {} : { querystring: query }),
    ...(names.length === 0 ? {} : { params: { type: 'object', properties, required: names } }),
    ...(body === undefined ? {} : { body: { content: { [bodyType]: { schema: body } } } }),
    response: {
      ...Object.fromEntries(Object.entries(responses).map(([status, response]) => [status, toResponse(response)])),
      ...failures,
    },
  }
}

function failure(description: string): object {
  return { description, content: { 'application/json': { schema: { $ref: 'Error#' } } } }
}

function toResponse({
  description,
  schema = {},
  contentType = 'application/json',
  events = false,
}: RouteDescription['responses'][number]) {
  const streamed = events ? { 'text/event-stream': { schema: { type: 'string' } } } : {}
  return { description, content: { [contentType]: { schema }, ...streamed } }
}
