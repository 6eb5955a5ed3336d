/**
 * The lists of models that servers give, and servers that give none.
 */
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { listModels } from '../../../src/agent/models/list-models.ts'
import { findLocalServers } from '../../../src/agent/models/local-servers.ts'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { knownWindow } from '../../../src/agent/models/windows.ts'

interface Seen {
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
}

async function startServer(t: TestContext, answer: (response: ServerResponse) => void) {
  const seen: Seen[] = []
  const server = createServer(({ url = '', headers }, response) => {
    seen.push({ url, headers })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { seen, baseUrl: `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}` }
}

const chat = (baseUrl: string) => ({ apiMode: 'chat_completions', baseUrl }) as const
const options = { apiKey: 'list-secret-key', timeoutMs: 5_000 }

test('the forms of OpenAI, Anthropic, OpenRouter, vLLM and Gemini are read', async (t) => {
  const data = [
    { id: 'gpt' },
    { id: 'claude', max_input_tokens: 200_000 },
    { id: 'z-ai/glm', context_length: 202_752 },
    { id: 'qwen', max_model_len: 32_768 },
    { id: 'models/gemini' },
    { id: 'gpt' },
    { id: 'text-embedding-3-large' },
    { id: 'whisper-1' },
    { id: 'two words' },
    { id: 7 },
    { name: 'nothing' },
    'text',
  ]
  const { seen, baseUrl } = await startServer(t, (response) => response.end(JSON.stringify({ data })))
  assert.deepEqual(await listModels(chat(baseUrl), options), [
    { id: 'gpt' },
    { id: 'claude', contextLength: 200_000 },
    { id: 'z-ai/glm', contextLength: 202_752 },
    { id: 'qwen', contextLength: 32_768 },
    { id: 'gemini' },
  ])
  assert.equal(seen[0]?.url, '/models')
  assert.equal(seen[0].headers['authorization'], 'Bearer list-secret-key')
  await listModels({ apiMode: 'anthropic_messages', baseUrl }, options)
  assert.equal(seen[1]?.url, '/v1/models?limit=1000')
  assert.equal(seen[1].headers['x-api-key'], 'list-secret-key')
})

const failures: readonly (readonly [string, (response: ServerResponse) => void, string])[] = [
  ['hangs', () => undefined, 'timeout'],
  ['hangs in the middle of the list', (response) => response.writeHead(200).write('{"data": ['), 'timeout'],
  ['answers nonsense', (response) => response.end('<html>'), 'bad-response'],
  ['answers something else', (response) => response.end('{"models": {}}'), 'bad-response'],
  ['answers without an end', (response) => response.end('['.repeat(9 * 1024 * 1024)), 'bad-response'],
  ['has no list', (response) => response.writeHead(404).end(), 'invalid-request'],
  [
    'leads elsewhere',
    (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    'invalid-request',
  ],
  ['refuses the key', (response) => response.writeHead(401).end('{"error": "no list-secret-key"}'), 'auth'],
  ['ends the connection', (response) => response.destroy(), 'network'],
]

for (const [what, answer, kind] of failures)
  test(`a server that ${what} gives no list, in bounded time and without showing the key`, async (t) => {
    const { baseUrl } = await startServer(t, answer)
    const timeoutMs = kind === 'timeout' ? 200 : 5_000
    await assert.rejects(listModels(chat(baseUrl), { ...options, timeoutMs }), (error) => {
      assert.ok(error instanceof ModelError)
      assert.equal(error.kind, kind)
      assert.ok(!error.message.includes('list-secret-key'))
      return true
    })
  })

test('a model server of this machine is found by its list, and another program on its port is not', async (t) => {
  const models = await startServer(t, (response) => response.end('{"data": [{"id": "qwen3:14b"}]}'))
  const page = await startServer(t, (response) => response.end('<html>'))
  const silent = await startServer(t, () => undefined)
  const found = await findLocalServers({
    providers: {
      ollama: { base_url: models.baseUrl },
      lmstudio: { base_url: page.baseUrl },
      vllm: { base_url: silent.baseUrl },
    },
    variables: {},
    timeoutMs: 200,
  })
  assert.deepEqual(found, [{ name: 'ollama', label: 'Ollama', baseUrl: models.baseUrl, models: [{ id: 'qwen3:14b' }] }])
})

test('a server on another machine is not asked', async () => {
  let asked = 0
  const providers = Object.fromEntries(
    ['ollama', 'lmstudio', 'vllm'].map((name) => [name, { base_url: 'http://192.0.2.1' }]),
  )
  const fetch = async () => {
    asked += 1
    return new Response('{"data": []}')
  }
  assert.deepEqual(await findLocalServers({ providers, variables: {}, fetch }), [])
  assert.equal(asked, 0)
})

test('the window of a model is that of the longest name that fits', () => {
  assert.equal(knownWindow('claude-3-haiku'), 200_000)
  assert.equal(knownWindow('anthropic/claude-sonnet-4.6'), 1_000_000)
  assert.equal(knownWindow('gpt-5.4-mini-2026'), 400_000)
  assert.equal(knownWindow('something'), undefined)
})
