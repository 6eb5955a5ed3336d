/**
 * The bundled provider of Mem0 against a local server that speaks its protocol, of a server of one's own and of the cloud.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createMem0Client, type Mem0Client } from '../../../plugins/memory/mem0/client.ts'
import { readMem0Settings, saveMem0Settings } from '../../../plugins/memory/mem0/settings.ts'
import { asRecord } from '../../../src/lib/json.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'

interface Mem0Server {
  readonly url: string
  /** `METHOD path`, with its key and its body. */
  readonly requests: { readonly call: string; readonly key: string; readonly body: Readonly<Record<string, unknown>> }[]
  /** Replaces the answers. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined
}

const key = 'm0-secret-key'

async function startMem0(t: TestContext): Promise<Mem0Server> {
  const memories = new Map<string, { id: string; memory: string; user_id: string }>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = asRecord(chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString()))
    const { method = '', url = '' } = request
    const given = String(request.headers['x-api-key'] ?? request.headers.authorization ?? '')
    state.requests.push({ call: `${method} ${url}`, key: given, body })
    if (state.answer !== undefined) return state.answer(request, response)
    const send = (value: unknown, status = 200) => response.writeHead(status).end(JSON.stringify(value))
    if (!given.endsWith(key)) return send({ detail: `wrong key ${given}` }, 401)
    if (method === 'POST' && /\/search\/?$/.test(url)) {
      const user = asRecord(body['filters'])['user_id']
      return send({ results: [...memories.values()].filter(({ user_id: owner }) => owner === user) })
    }
    if (method === 'POST') {
      const [message] = Array.isArray(body['messages']) ? body['messages'] : []
      const id = `m${memories.size + 1}`
      memories.set(id, { id, memory: String(asRecord(message)['content']), user_id: String(body['user_id']) })
      return send({ results: [{ id, event: 'ADD' }] })
    }
    const memory = memories.get(
      decodeURIComponent(
        url
          .split('/')
          .filter((part) => part !== '')
          .at(-1) ?? '',
      ),
    )
    if (memory === undefined) return send({ detail: 'not found' }, 404)
    if (method === 'DELETE') memories.delete(memory.id)
    return send(memory)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const state: Mem0Server = { url: `http://127.0.0.1:${address.port}`, requests: [], answer: undefined }
  return state
}

const ada = { userId: 'web:ada', agentId: 'hermes' }
const bob = { userId: 'web:bob', agentId: 'hermes' }

function clientOf({ url }: Mem0Server, more: { readonly host?: string; readonly timeoutMs?: number } = {}): Mem0Client {
  return createMem0Client({ apiKey: key, host: more.host ?? url }, more.timeoutMs ?? 5_000)
}

test('a memory is stored for a person, found for this person only, and deleted by this person only', async (t) => {
  const server = await startMem0(t)
  const client = clientOf(server)
  await client.add([{ role: 'user', content: 'likes tea' }], ada, { infer: true })
  assert.deepEqual(await client.search('drinks', bob, 5), [])
  const [found] = await client.search('drinks', ada, 5)
  assert.equal(found?.memory, 'likes tea')
  await assert.rejects(client.remove(found.id, bob))
  await client.remove(found.id, ada)
  assert.deepEqual(await client.search('drinks', ada, 5), [])
  assert.deepEqual(server.requests[0], {
    call: 'POST /memories',
    key,
    body: {
      messages: [{ role: 'user', content: 'likes tea' }],
      user_id: 'web:ada',
      agent_id: 'hermes',
      infer: true,
    },
  })
  assert.deepEqual(server.requests[2]?.body, { query: 'drinks', filters: { user_id: 'web:ada' }, top_k: 5 })
})

test('the cloud is asked with its paths and with its kind of key', async (t) => {
  const server = await startMem0(t)
  const toLocal: typeof fetch = (input, init) => fetch(String(input).replace('https://api.mem0.ai', server.url), init)
  const client = createMem0Client({ apiKey: key, host: '' }, 5_000, toLocal)
  await client.add([{ role: 'user', content: 'likes tea' }], ada, { infer: false })
  const [found] = await client.search('drinks', ada, 5)
  await client.remove(found?.id ?? '', ada)
  assert.deepEqual(
    server.requests.map(({ call }) => call),
    ['POST /v1/memories/', 'POST /v2/memories/search/', 'GET /v1/memories/m1/', 'DELETE /v1/memories/m1/'],
  )
  assert.deepEqual([...new Set(server.requests.map(({ key: given }) => given))], [`Token ${key}`])
  assert.deepEqual([server.requests[0]?.body['version'], server.requests[0]?.body['infer']], ['v2', false])
})

test('a server that refuses, hangs, redirects, or sends garbage or megabytes is an error without the key', async (t) => {
  const server = await startMem0(t)
  const answers: Mem0Server['answer'][] = [
    (_request, response) => response.writeHead(401).end(JSON.stringify({ detail: `wrong key ${key}` })),
    () => undefined,
    (_request, response) => response.writeHead(307, { location: `${server.url}/elsewhere` }).end(),
    (_request, response) => response.end('<html>'),
    (_request, response) => response.end(JSON.stringify('x'.repeat(2_000_000))),
  ]
  for (const answer of answers) {
    server.answer = answer
    await assert.rejects(clientOf(server, { timeoutMs: 200 }).search('drinks', ada, 5), (error: Error) => {
      assert.doesNotMatch(`${error.message} ${JSON.stringify(error)}`, new RegExp(key))
      return true
    })
  }
  for (const body of ['{}', '[7, {"memory": 7}]', '{"results": "none"}', 'null']) {
    server.answer = (_request, response) => response.end(body)
    assert.deepEqual(await clientOf(server).search('drinks', ada, 5), [])
  }
})

test('settings of Hermes are read as they are, and the setup keeps what it does not know', (t) => {
  const home = tempHome(t)
  const variables: Readonly<Record<string, string>> = { MEM0_API_KEY: key, MEM0_HOST: 'http://127.0.0.1:1/' }
  const env = (name: string) => variables[name]
  const fromVariables = { apiKey: key, host: 'http://127.0.0.1:1', userId: '', agentId: 'hermes' }
  assert.deepEqual(readMem0Settings({ home, env }), fromVariables)
  const path = join(home, 'mem0.json')
  writeFileSync(path, JSON.stringify({ user_id: 'hermes-user', agent_id: 'butler', rerank: 'true' }))
  assert.deepEqual(readMem0Settings({ home, env }), { ...fromVariables, agentId: 'butler' })
  saveMem0Settings(home, { user_id: 'family' })
  assert.equal(readMem0Settings({ home, env }).userId, 'family')
  assert.equal(asRecord(JSON.parse(readFileSync(path, 'utf8')))['rerank'], 'true')
  assert.equal(statSync(path).mode & 0o077, 0)
  writeFileSync(path, '{')
  assert.throws(() => readMem0Settings({ home, env }), /mem0\.json/)
})

test('a turn is sent to Mem0 behind the reply, and recalled in the next conversation', async (t) => {
  const server = await startMem0(t)
  const gateway = await startTestGateway(t, {
    config: { memory: { provider: 'mem0' }, roles: { owners: ['fake:ada'] } },
    prepare: ({ envFile }) => writeFileSync(envFile, `MEM0_API_KEY=${key}\nMEM0_HOST=${server.url}\n`, { mode: 0o600 }),
  })
  await gateway.say('I keep the key in the drawer.', { user: 'ada' })
  await gateway.waitForReply('You said')
  await gateway.say('/new', { user: 'ada' })
  await gateway.say('Where is the key?', { user: 'ada' })
  await gateway.waitForReply('You said: Where')
  const body = JSON.stringify((await gateway.modelRequest(1)).body)
  assert.match(body, /<memory-context>[^<]*\\n- I keep the key in the drawer\.\\n<\/memory-context>/)
  await gateway.stop()
  assert.ok(gateway.log.every((line) => !line.includes(key)))
})

test('without a key the gateway says what is missing', async (t) => {
  const gateway = await startTestGateway(t, { config: { memory: { provider: 'mem0' } } })
  const reasons = gateway.current().status().degraded
  assert.ok(
    reasons.some((reason) => reason.includes('mem0') && reason.includes('MEM0_API_KEY')),
    reasons.join('\n'),
  )
})
