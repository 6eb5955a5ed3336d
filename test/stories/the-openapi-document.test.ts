/**
 * The OpenAPI document shows every public route, and what the routes really take and return.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { notDescribed } from '../../src/flows/api/descriptions.ts'
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

async function startWithEverything(t: Parameters<typeof startTestGateway>[0]) {
  const gateway = await startTestGateway(t, { config: { platforms: { api_server: { enabled: true } } } })
  const read = async (path: string) => documentShape.parse(await (await gateway.http(path)).json())
  const { paths } = await read('/api/openapi.json')
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, ...described })),
  )
  return { gateway, operations }
}

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
  await gateway.post('/api/jobs', { action: 'create', schedule: 'every 2h', prompt: 'x', deliver: 'local' })
  return {
    session_id: session,
    message_id: String(at(messages, 'messages', 0, 'id')),
    upload_id: upload,
    run_id: String(at(await json(gateway.post('/v1/runs', { input: 'hi' })), 'run_id')),
    platform: 'acp',
    chat_id: 'thread',
    response_id: String(at(await json(gateway.post('/v1/responses', { input: 'hi' })), 'id')),
    model: 'test-model',
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
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? `no ${name}`))
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
