/**
 * The OpenAPI document shows every public route, and what the routes really take and return.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { notDescribed } from '../../src/api/describe-routes.ts'
import { errorShape } from '../../src/api/shapes/common.ts'
import { openApiProblems } from '../kit/openapi-problems.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

const response = z.looseObject({
  content: z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) })).optional(),
})
const operation = z.looseObject({
  summary: z.string(),
  requestBody: response.optional(),
  responses: z.record(z.string(), response),
})
const documentShape = z.looseObject({
  openapi: z.literal('3.1.0'),
  paths: z.record(z.string(), z.record(z.string(), operation)),
})

const webhook = {
  enabled: true,
  secret: 'a-secret-of-the-webhook-0123456789',
  routes: { trains: { prompt: 'Late: {message}', deliver: 'log', events: [] } },
}

async function startWithEverything(t: Parameters<typeof startTestGateway>[0]) {
  const gateway = await startTestGateway(t, { config: { platforms: { api_server: { enabled: true }, webhook } } })
  const read = async (path: string) => documentShape.parse(await (await gateway.http(path)).json())
  const { paths } = await read('/api/openapi.json')
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, ...described })),
  )
  return { gateway, operations }
}

test('the document is valid by OpenAPI 3.1', async (t) => {
  const gateway = await startTestGateway(t, { config: { platforms: { api_server: { enabled: true } } } })
  assert.deepEqual(openApiProblems(await (await gateway.http('/api/openapi.json')).json()), [])
})

test('what the gateway refuses has the form that the document gives to errors', async (t) => {
  const { gateway, operations } = await startWithEverything(t)
  const check = async (asked: string, answer: Response) => {
    assert.deepEqual(errorShape.safeParse(await answer.json()).error?.issues ?? [], [], asked)
  }
  for (const { path, method, responses } of operations) {
    if (path === '/healthz' || path === '/readyz') continue
    const asked = `${method} ${path}`
    assert.ok(
      ['4XX', '5XX'].every((status) => status in responses),
      `${asked}: ${Object.keys(responses)}`,
    )
    const url = path.replace(/\{\w+\}/g, '0')
    const init = method === 'get' ? {} : { method: method.toUpperCase(), body: '{' }
    await check(asked, await fetch(`${gateway.current().url}${url}`, init))
    // Nothing has such an id, which removals do not mind, and the body is no JSON.
    if ((path.includes('{') && method !== 'delete') || (path.startsWith('/v1/') && method === 'post'))
      await check(asked, await gateway.http(url, init))
  }
})

test('bodies that are no JSON and streams of events are in the document', async (t) => {
  const { operations } = await startWithEverything(t)
  const find = (wanted: string) => operations.find(({ method, path }) => `${method} ${path}` === wanted)
  const typesOf = (wanted: string) => Object.keys(find(wanted)?.responses['200']?.content ?? {})
  assert.deepEqual(Object.keys(find('post /api/uploads/{upload_id}')?.requestBody?.content ?? {}), [
    'application/octet-stream',
  ])
  for (const route of ['get /api/events', 'post /v1/chat/completions', 'post /v1/responses'])
    assert.deepEqual(typesOf(route), ['application/json', 'text/event-stream'], route)
})

/** Ids for the variable parts of paths. */
async function makeIds(gateway: TestGateway): Promise<Record<string, string>> {
  await gateway.say('hello')
  await gateway.waitForReply(/hello/)
  const json = async (answer: Promise<Response>) => (await answer).json()
  const sessions = await json(gateway.http('/api/sessions'))
  const session = String(at(sessions, 'sessions', 0, 'id'))
  const messages = await json(gateway.http(`/api/sessions/${session}/messages`))
  const upload = 'upload-0123456789'
  await gateway.post('/api/uploads', { id: upload, bytes: 3 })
  const content = '---\nname: trains\ndescription: How to find a train.\n---\nAsk for the day.\n'
  await gateway.post('/api/skills', { action: 'create', name: 'trains', content })
  const job = { action: 'create', schedule: 'every 2h', prompt: 'x', deliver: 'local' }
  return {
    session_id: session,
    message_id: String(at(messages, 'messages', 0, 'id')),
    upload_id: upload,
    run_id: String(at(await json(gateway.post('/v1/runs', { input: 'hi' })), 'run_id')),
    platform: 'acp',
    chat_id: 'thread',
    response_id: String(at(await json(gateway.post('/v1/responses', { input: 'hi' })), 'id')),
    model: 'test-model',
    subject: 'last',
    name: 'trains',
    job_id: String(at(await json(gateway.post('/api/jobs', job)), 'jobs', 0, 'id')),
  }
}

test('the document describes every public route, and responses of real requests match it', async (t) => {
  const { gateway, operations } = await startWithEverything(t)
  assert.ok(operations.length > 50, `only ${operations.length} operations`)
  const unknown = operations.filter(({ summary }) => summary === notDescribed)
  assert.deepEqual(
    unknown.map(({ method, path }) => `${method} ${path}`),
    [],
  )

  const ids = await makeIds(gateway)
  const checked: string[] = []
  for (const { path, method, responses } of operations) {
    const schema = responses['200']?.content?.['application/json']?.schema
    if (method !== 'get' || schema === undefined) continue
    const known = path.startsWith('/api/setup/') ? { ...ids, platform: 'telegram' } : ids
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(known[name] ?? `no ${name}`))
    const found = await gateway.http(url)
    assert.equal(found.status, 200, url)
    const parsed = z.fromJSONSchema(schema).safeParse(await found.json())
    assert.deepEqual(parsed.error?.issues ?? [], [], url)
    checked.push(path)
  }
  assert.ok(checked.length >= 20, `only ${checked}`)
})

/** Requests that change little, by what the document calls them. */
const samples: Readonly<Record<string, unknown>> = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'hi' }] },
  '/v1/responses': { input: 'hi' },
  '/v1/runs': { input: 'hi' },
  '/api/send': { targets: ['local'], text: 'hi' },
  '/api/jobs': { action: 'create', schedule: 'every 2h', prompt: 'x', deliver: 'local' },
  '/api/uploads': { id: 'upload-0123456789', bytes: 3 },
  '/api/hooks/pause': { name: 'boot-md' },
  '/api/hooks/resume': { name: 'boot-md' },
  '/api/hooks/reload': {},
  '/api/plugins/reload': {},
  '/api/pairing/clear': {},
  '/api/pause': { off: true },
}

test('a body that the document allows is taken, and the response matches the document', async (t) => {
  const { gateway, operations } = await startWithEverything(t)
  for (const [path, body] of Object.entries(samples)) {
    const described = operations.find((one) => one.path === path && one.method === 'post')
    const request = described?.requestBody?.content?.['application/json']?.schema
    if (request !== undefined) assert.ok(z.fromJSONSchema(request).safeParse(body).success, `${path} is not documented`)
    const answer = await gateway.post(path, body)
    const schema = described?.responses[String(answer.status)]?.content?.['application/json']?.schema
    assert.ok(schema !== undefined, `${path}: ${answer.status} ${await answer.clone().text()}`)
    const parsed = z.fromJSONSchema(schema).safeParse(await answer.json())
    assert.deepEqual(parsed.error?.issues ?? [], [], path)
  }
})

test('a body that the document does not allow is refused as a bad request', async (t) => {
  const { gateway, operations } = await startWithEverything(t)
  const refused: string[] = []
  for (const { path, method, requestBody } of operations) {
    const schema = requestBody?.content?.['application/json']?.schema
    if (schema === undefined || path.includes('{') || z.fromJSONSchema(schema).safeParse({}).success) continue
    const answer = await gateway.http(path, { method: method.toUpperCase(), body: '{}' })
    assert.equal(answer.status, 400, `${method} ${path}: ${await answer.text()}`)
    refused.push(path)
  }
  assert.ok(refused.length >= 15, `only ${refused}`)
})
