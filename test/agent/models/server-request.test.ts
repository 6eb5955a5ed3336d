/**
 * What an entry of `providers` adds to requests, as its server receives it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { modelConfig } from '../../../src/agent/models/config.ts'
import { createProvider } from '../../../src/agent/models/create-provider.ts'
import { listModels } from '../../../src/agent/models/list-models.ts'
import { resolveProvider, serversOf } from '../../../src/agent/models/resolve-provider.ts'
import { addServerSettings } from '../../../src/agent/models/server-request.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'

const entry = {
  api_key: 'lab-key-0123',
  extra_headers: { 'CF-Access-Client-Secret': 'cf-secret-91x7', 'User-Agent': 'plain/1' },
  extra_body: { service_tier: 'priority' },
  session_affinity_header: 'x-litellm-session-id',
}

test('the server of an entry receives its headers, its fields and the conversation, and the log no header', async (t) => {
  const gateway = await startTestGateway(t, { replies: [{ text: 'one' }], startNow: false })
  const { baseUrl } = gateway.model
  gateway.configure({ provider: 'lab', base_url: '', api_key: '', providers: { lab: { ...entry, base_url: baseUrl } } })
  await gateway.start()
  await gateway.say('hello')
  await gateway.waitForReply('one')
  const { headers, body } = await gateway.modelRequest(0)
  assert.equal(headers['cf-access-client-secret'], 'cf-secret-91x7')
  assert.equal(headers['user-agent'], 'plain/1')
  assert.equal(headers.authorization, 'Bearer lab-key-0123')
  assert.equal(body['service_tier'], 'priority')
  const { sessions } = z
    .object({ sessions: z.array(z.object({ id: z.string() })) })
    .parse(await (await gateway.http('/api/sessions')).json())
  assert.deepEqual(
    [headers['x-litellm-session-id']],
    sessions.map(({ id }) => id),
  )
  await gateway.stop()
  assert.ok(!gateway.log.join('').includes('cf-secret-91x7'))
})

const parsed = (server: Readonly<Record<string, unknown>>) =>
  serversOf(z.object(modelConfig).parse({ providers: { lab: server } }))

test('what a request says takes precedence, and another address receives nothing of the entry', async (t) => {
  const own = await startOpenAiServer({ replies: [{ text: 'own' }] })
  const other = await startOpenAiServer({ replies: [{ text: 'other' }] })
  t.after(() => Promise.all([own.stop(), other.stop()]))
  const providers = parsed({ ...entry, base_url: own.baseUrl })
  const ask = async (baseUrl: string) => {
    const choice = createProvider({ provider: 'lab', model: 'm', baseUrl, apiKey: 'k', variables: {}, providers })
    assert.ok('provider' in choice)
    const request = choice.provider.buildRequest({ model: 'm', system: '', messages: [], tools: [] })
    const headers = { 'user-agent': 'of-the-request' }
    const stream = choice.provider.stream({ ...request, extra_headers: headers }, AbortSignal.timeout(waitLimitMs()))
    while ((await stream.next()).done !== true);
  }
  await ask('')
  await ask(other.baseUrl)
  const [first, second] = [own.requests[0], other.requests[0]]
  assert.deepEqual(
    [first?.headers['cf-access-client-secret'], first?.headers['x-litellm-session-id'], first?.body['service_tier']],
    ['cf-secret-91x7', undefined, 'priority'],
  )
  assert.match(`${first?.headers['user-agent']}`, /of-the-request/)
  assert.deepEqual([second?.headers['cf-access-client-secret'], second?.body['service_tier']], [undefined, undefined])
})

test('the time without output is that of the model, or else that of its server', async (t) => {
  const server = await startOpenAiServer({ replies: [{ hang: 'headers' }] })
  t.after(() => server.stop())
  const models = { slow: { timeout_seconds: 600 } }
  const providers = parsed({ base_url: server.baseUrl, request_timeout_seconds: 0.01, models })
  const { lab } = providers
  assert.ok(lab)
  assert.equal(addServerSettings({ model: 'slow', stream: true }, lab, undefined).timeout, 600)
  assert.equal(addServerSettings({ model: 'slow', stream: true, timeout: 5 }, lab, undefined).timeout, 5)
  const choice = createProvider({ provider: 'lab', model: 'm', baseUrl: '', apiKey: '', variables: {}, providers })
  assert.ok('provider' in choice)
  const request = choice.provider.buildRequest({ model: 'm', system: '', messages: [], tools: [] })
  await assert.rejects(choice.provider.stream(request, AbortSignal.timeout(waitLimitMs())).next(), { kind: 'timeout' })
})

test('the list of models is asked for with the headers of the entry', async () => {
  const choice = resolveProvider({
    ...{ provider: 'lab', model: '', baseUrl: '', apiKey: '', variables: {} },
    providers: parsed({ ...entry, base_url: 'http://127.0.0.1:9/v1' }),
  })
  assert.ok(choice !== undefined)
  let sent = new Headers()
  const fetch = async (_: unknown, init?: RequestInit) => {
    sent = new Headers(init?.headers)
    return Response.json({ data: [{ id: 'm' }] })
  }
  await listModels(choice, { apiKey: 'k', timeoutMs: 20_000, fetch })
  assert.equal(sent.get('cf-access-client-secret'), 'cf-secret-91x7')
})
