import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { homeWith, runInProcess } from './support.ts'

const key = 'sk-secret-0123456789'

async function doctor(t: TestContext, reply: ModelReply, words: readonly string[] = []) {
  const server = await startOpenAiServer({ defaultReply: () => reply })
  t.after(() => server.stop())
  const home = homeWith(t, `model: gpt-5\nprovider: openai\nbase_url: ${server.baseUrl}\nhttp: {port: 0}\n`)
  const { stdout } = await runInProcess(home.root, ['doctor', '--json', ...words], {
    environment: { OPENAI_API_KEY: key },
  })
  const { findings }: { findings: { subject: string; state: string; text: string; code?: string }[] } =
    JSON.parse(stdout)
  const model = findings.find(({ subject }) => subject === 'Model')
  assert.ok(!stdout.includes(key))
  return { model, requests: server.requests, host: new URL(server.baseUrl).host }
}

test('doctor tries the key with one small request, and names the key and the host', async (t) => {
  const { model, requests, host } = await doctor(t, { text: 'ok' })
  assert.equal(model?.state, 'ok')
  assert.ok(model?.text.includes(host) && model.text.includes('OPENAI_API_KEY'), model?.text)
  assert.equal(requests.length, 1)
  assert.ok(Number(requests[0]?.body['max_completion_tokens'] ?? requests[0]?.body['max_tokens']) <= 16)
})

test('doctor reports a key that the provider refuses', async (t) => {
  const { model, host } = await doctor(t, { error: { status: 401 } })
  assert.deepEqual([model?.state, model?.code], ['problem', 'provider/auth'])
  assert.ok(model?.text.includes(host) && model.text.includes('OPENAI_API_KEY'), model?.text)
})

test('doctor only notes that a provider is busy, because the key works', async (t) => {
  const { model } = await doctor(t, { error: { status: 429 } })
  assert.deepEqual([model?.state, model?.code], ['note', 'provider/rate-limit'])
})

test('doctor --offline sends no request', async (t) => {
  const { model, requests } = await doctor(t, { text: 'ok' }, ['--offline'])
  assert.deepEqual([model?.state, requests.length], ['ok', 0])
})

test('doctor tries a key of auth.json, and names keys that rest', async (t) => {
  const server = await startOpenAiServer({ defaultReply: () => ({ text: 'ok' }) })
  t.after(() => server.stop())
  const home = homeWith(
    t,
    `model: m\nprovider: lab\nproviders: {lab: {base_url: ${server.baseUrl}}}\nhttp: {port: 0}\n`,
  )
  const entries = [
    { id: 'a', label: 'work', source: 'manual', priority: 0, access_token: key },
    {
      id: 'b',
      label: 'spare',
      source: 'manual',
      priority: 1,
      access_token: 'sk-other-9876543210',
      last_error_code: 429,
      cooldown_until: Date.now() / 1_000 + 600,
    },
  ]
  writeFileSync(home.authFile, JSON.stringify({ credential_pool: { lab: entries } }), { mode: 0o600 })
  const { stdout } = await runInProcess(home.root, ['doctor', '--json'])
  const { findings }: { findings: { subject: string; state: string; text: string }[] } = JSON.parse(stdout)
  const textOf = (subject: string) => findings.find((one) => one.subject === subject)?.text ?? ''
  assert.match(textOf('Model'), /work in auth\.json/)
  assert.match(textOf('Keys'), /^lab: 2 keys, .*spare .*429/)
  assert.equal(server.requests[0]?.headers.authorization, `Bearer ${key}`)
  assert.ok(!stdout.includes(key))
})

test('doctor says that the key is missing when the provider has revoked the only stored one', async (t) => {
  const home = homeWith(t, 'model: m\nprovider: openai\nhttp: {port: 0}\n')
  const entries = [{ id: 'a', label: 'work', source: 'manual', access_token: key, last_status: 'dead' }]
  writeFileSync(home.authFile, JSON.stringify({ credential_pool: { openai: entries } }), { mode: 0o600 })
  const { stdout } = await runInProcess(home.root, ['doctor', '--json', '--offline'])
  const { findings }: { findings: { subject: string; code?: string }[] } = JSON.parse(stdout)
  assert.equal(findings.find(({ subject }) => subject === 'Model')?.code, 'config/no-model')
})

test('doctor names models for other work that cannot be used', async (t) => {
  const auxiliary =
    '{title_generation: {provider: deepsek, model: m}, vision: {provider: deepseek, model: m}, approval: {model: m}}'
  const home = homeWith(t, `model: m\nprovider: openai\nbase_url: http://127.0.0.1:9/v1\nauxiliary: ${auxiliary}\n`)
  const { stdout } = await runInProcess(home.root, ['doctor', '--json', '--offline'], {
    environment: { OPENAI_API_KEY: key },
  })
  const { findings }: { findings: { subject: string; state: string; text: string }[] } = JSON.parse(stdout)
  const others = findings.filter(({ subject }) => subject === 'Other models')
  assert.deepEqual(
    others.map(({ state, text }) => [state, text.split(':')[0]]),
    [
      ['note', 'auxiliary.vision'],
      ['note', 'auxiliary.title_generation'],
    ],
  )
})

test('doctor names the key of a vendor that goes to another server, and a fallback that gets none', async (t) => {
  const other = 'model: other, base_url: "https://other.example/v1"'
  const home = homeWith(
    t,
    `model: m
provider: openai
base_url: https://proxy.example/v1
fallback_providers:
  - {provider: openrouter, ${other}}
  - {provider: openrouter, ${other}, key_env: OTHER}
  - {provider: custom, ${other}}
`,
  )
  const notes = async (environment: Readonly<Record<string, string>>) => {
    const { stdout } = await runInProcess(home.root, ['doctor', '--json', '--offline'], { environment })
    assert.ok(!stdout.includes(key))
    const { findings }: { findings: { subject: string; text: string }[] } = JSON.parse(stdout)
    return findings.flatMap(({ subject, text }) =>
      subject === 'Keys' ? [/OPENAI_API_KEY|\w+\[\d\]/.exec(text)?.[0]] : [],
    )
  }
  assert.deepEqual(await notes({ OPENAI_API_KEY: key }), ['OPENAI_API_KEY', 'fallback_providers[0]'])
  writeFileSync(home.configFile, 'model: m\nprovider: openai\nbase_url: https://api.openai.com/v1\n')
  assert.deepEqual(await notes({ OPENAI_API_KEY: key }), [])
})

test('doctor names the model of a chat that cannot be used', async (t) => {
  const home = homeWith(
    t,
    `http: {port: 0}
model: m
provider: lab
providers: {lab: {base_url: "http://127.0.0.1:1"}}
platforms:
  web:
    channel_overrides:
      good: {model: other}
      bad: {model: other, provider: deepseek}
      worse: {model: other, provider: custom:gone}
`,
  )
  const { stdout } = await runInProcess(home.root, ['doctor', '--offline', '--json'])
  const { findings }: { findings: { subject: string; text: string }[] } = JSON.parse(stdout)
  const chats = findings.flatMap(({ subject, text }) =>
    subject === 'Other models' ? [/chat (\w+)/.exec(text)?.[1]] : [],
  )
  assert.deepEqual(chats, ['bad', 'worse'])
})

test('doctor says what to do about a torn auth.json, and tries the key of the environment', async (t) => {
  const server = await startOpenAiServer({ defaultReply: () => ({ text: 'ok' }) })
  t.after(() => server.stop())
  const home = homeWith(t, `model: gpt-5\nprovider: openai\nbase_url: ${server.baseUrl}\nhttp: {port: 0}\n`)
  writeFileSync(home.authFile, '{"credential_pool": {"openai": [')
  const { stdout } = await runInProcess(home.root, ['doctor', '--json'], { environment: { OPENAI_API_KEY: key } })
  const { findings }: { findings: { subject: string; state: string; code?: string }[] } = JSON.parse(stdout)
  const stateOf = (subject: string) => findings.filter((one) => one.subject === subject).map(({ state }) => state)
  assert.deepEqual([stateOf('Model'), stateOf('Keys'), stateOf('Doctor')], [['ok'], ['problem'], []])
  assert.equal(findings.find(({ subject }) => subject === 'Keys')?.code, 'auth/unusable')
})
