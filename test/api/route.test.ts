import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { callRoute } from '../../src/api/client.ts'
import { defineRoutes } from '../../src/api/route.ts'
import { serveRoute } from '../../src/api/serve-route.ts'

const route = defineRoutes('Test')
const summary = 'Greets a person.'

/** A whole route: what the server, the document and the client need of it is here. */
const greet = route('POST', '/api/people/{name}/greetings', {
  summary,
  query: z.object({ times: z.coerce.number().default(1) }),
  body: z.object({ word: z.string() }),
  response: z.object({ greeting: z.string() }),
  status: 201,
  handle: async (_, { params, query, body }) => ({ greeting: `${body.word} ${params.name}`.repeat(query.times) }),
})

function accessTo(route: Parameters<typeof serveRoute<unknown>>[0]) {
  const { handle } = serveRoute<unknown>(route, undefined)
  const call: typeof fetch = async (address, init) => await handle(new Request(address, init))
  return { url: 'http://gateway.invalid', token: 'token', fetch: call }
}

test('a route is written once: the client sends what its handler receives, and receives what it returns', async () => {
  const answer = await callRoute(accessTo(greet), greet, {
    params: { name: 'Ada/b:c %' },
    query: { times: 2 },
    body: { word: 'Hi' },
  })
  assert.deepEqual(answer, { greeting: 'Hi Ada/b:c %Hi Ada/b:c %' })
})

test('what a shape does not allow reaches no handler', async () => {
  const { handle } = serveRoute<unknown>(greet, undefined)
  const ask = (path: string, body: string) =>
    handle(new Request(`http://gateway.invalid/api/people/${path}`, { method: 'POST', body }))
  for (const [path, body] of [
    ['x/greetings', '{}'],
    ['x/greetings', ''],
    ['x/greetings', 'no JSON'],
    ['x/greetings?times=x', '{"word":""}'],
    ['%zz/greetings', '{"word":""}'],
  ] as const)
    await assert.rejects(async () => ask(path, body), { code: 'http/bad-request' }, `${path} ${body}`)
})

test('an answer of another form is reported and not passed on', async () => {
  const other = { ...greet, handle: async () => Response.json({ greeting: 5 }) }
  const input = { params: { name: 'x' }, body: { word: '' } }
  await assert.rejects(callRoute(accessTo(other), greet, input), { code: 'cli/incompatible-response' })
})

test('a route without a response, with another answer or with an unknown parameter does not compile', () => {
  const path = '/api/people/{name}'
  const response = z.object({ name: z.string() })
  const routes = [
    // @ts-expect-error The shape of the response is missing.
    route('GET', path, { summary, handle: async () => Response.json({}) }),
    // @ts-expect-error The handler returns another form.
    route('GET', path, { summary, response, handle: async () => ({ title: '' }) }),
    // @ts-expect-error The path has no such part.
    route('GET', path, { summary, response, handle: async (_, { params }) => ({ name: params.title }) }),
  ]
  // @ts-expect-error The client gives no parameter.
  const calls = [() => callRoute(accessTo(greet), greet, { body: { word: '' } })]
  assert.deepEqual([routes.length, calls.length], [3, 1])
})

test('one file describes a session, and one a message', () => {
  const folder = fileURLToPath(new URL('../../src', import.meta.url))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'))
  const describing = (member: RegExp) =>
    files.filter((path) => member.test(readFileSync(`${folder}/${path}`, 'utf8'))).map((path) => path)
  assert.deepEqual(describing(/\bmessage_count: z\./), ['api/shapes/sessions.ts'])
  assert.deepEqual(describing(/\btool_calls: z\.array/), ['api/shapes/sessions.ts'])
})
