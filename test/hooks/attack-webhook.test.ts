/**
 * Addresses that are told of events: what is secret about them stays so, and what is signed is what was sent.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type TestContext, test } from 'node:test'
import { agentStart, createTestHooks, type HooksUnderTest } from './support.ts'

interface Delivery {
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

async function startReceiver(t: TestContext) {
  const deliveries: Delivery[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    deliveries.push({ headers: request.headers, body: Buffer.concat(chunks) })
    response.end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const address = server.address()
  return { deliveries, port: typeof address === 'object' && address !== null ? address.port : 0 }
}

async function emitToWebhook(
  t: TestContext,
  webhook: object,
  message: string,
  environment = {},
): Promise<HooksUnderTest> {
  const settings = { outbound: [{ name: 'ops', events: 'agent:start', ...webhook }] }
  const hooks = createTestHooks(t, { settings, environment })
  hooks.registry.discoverAndLoad()
  hooks.registry.emit('agent:start', agentStart(message))
  assert.ok(await hooks.registry.waitUntilIdle(20_000))
  return hooks
}

test('credentials in a webhook URL are sent only to the server', async (t) => {
  const { deliveries, port } = await startReceiver(t)
  const hooks = await emitToWebhook(t, { url: `http://ada:p%40ss-word@127.0.0.1:${port}/in` }, 'hello')
  assert.equal(deliveries[0]?.headers.authorization, `Basic ${btoa('ada:p@ss-word')}`)
  const closed = await emitToWebhook(t, { url: 'http://ada:p%40ss-word@127.0.0.1:1/in' }, 'hello')
  assert.equal(closed.status('webhook/ops').failed, 1)
  for (const { log, registry } of [hooks, closed]) {
    assert.doesNotMatch(JSON.stringify([log.records, registry.list()]), /ss-word/)
  }
})

test('a webhook with an empty secret sends nothing unsigned', async (t) => {
  const { deliveries, port } = await startReceiver(t)
  const hooks = await emitToWebhook(t, { url: `http://127.0.0.1:${port}/`, secret_env: 'OPS' }, 'hello', { OPS: '' })
  assert.deepEqual([deliveries.length, hooks.status('webhook/ops').failed], [0, 1])
  assert.match(hooks.status('webhook/ops').lastError?.text ?? '', /\bOPS\b/)
  const written = await emitToWebhook(t, { url: `http://127.0.0.1:${port}/`, secret: '' }, 'hello')
  assert.deepEqual([deliveries.length, written.status('webhook/ops').failed], [0, 1])
})

test('the signature of a webhook covers the sent bytes, also for non-ASCII text', async (t) => {
  const { deliveries, port } = await startReceiver(t)
  const secret = 'schlüssel 🔑'
  await emitToWebhook(t, { url: `http://127.0.0.1:${port}/`, secret }, 'ünï 🎉 \ud800 \u2028 \u0000 "\\ 日本')
  const [delivery] = deliveries
  assert.ok(delivery)
  const expected = createHmac('sha256', secret).update(delivery.body).digest('hex')
  assert.equal(delivery.headers['x-hermes-signature-256'], `sha256=${expected}`)
})
