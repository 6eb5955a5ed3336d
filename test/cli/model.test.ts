/**
 * `hermes model`: lists, tries and writes models.
 */
import assert from 'node:assert/strict'
import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { type CliContext, createContext } from '../../src/cli/kit/context.ts'
import { modelChoose } from '../../src/cli/model-questions.ts'
import { startAnthropicServer } from '../kit/servers/anthropic-server.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startOpenAiServer } from '../kit/servers/openai-server.ts'
import { assertFailed, homeWith, runInProcess } from './support.ts'

const models = [{ id: 'small', context_length: 32_000 }, { id: 'large' }, { id: 'text-embedding-3' }]

async function startServer(t: TestContext, reply: ModelReply = { text: 'ok' }) {
  const server = await startOpenAiServer({ defaultReply: () => reply, models: () => models })
  t.after(server.stop)
  return server
}

/** A server that answers every request with this, or not at all. */
async function startRawServer(t: TestContext, body: string | undefined, status = 200): Promise<string> {
  const server = createServer((_request, response) => {
    if (body !== undefined) response.writeHead(status).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/v1`
}

const parsed = (text: string) => JSON.parse(text)

test('the models of configured servers are listed, without those that hold no conversation', async (t) => {
  const server = await startServer(t)
  const home = homeWith(t, `model: small\nprovider: lab\nproviders: {lab: {base_url: "${server.baseUrl}"}}\n`)
  const { stdout } = await runInProcess(home.root, ['model', 'list', 'lab', '--json'])
  const [lab] = parsed(stdout)
  assert.deepEqual(lab.models, [{ id: 'small', contextLength: 32_000 }, { id: 'large' }])
  assert.equal(lab.key, null)
  const shown = await runInProcess(home.root, ['model', 'list', 'custom:lab'])
  assert.match(shown.stdout, /small {2}32,000 tokens {2}\(in use\)/)
  const current = parsed((await runInProcess(home.root, ['model', '--json'])).stdout)
  assert.deepEqual([current.model, current.provider, current.key], ['small', 'lab', null])
  assertFailed(await runInProcess(home.root, ['model', 'list', 'labb']), 'cli/not-found', '"lab"')
})

test('a probe says whether key, address and model work', async (t) => {
  const server = await startServer(t)
  const home = homeWith(t, `providers: {lab: {base_url: "${server.baseUrl}", api_key: lab-secret-key}}\n`)
  const probe = async (words: string) => {
    const { code, stdout } = await runInProcess(home.root, ['model', 'probe', words, '--json'])
    assert.ok(!stdout.includes('lab-secret-key'))
    const { ok, checks } = parsed(stdout)
    return { code, ok, states: checks.map(({ subject, state }: Record<string, string>) => `${subject} ${state}`) }
  }
  assert.deepEqual(await probe('lab:large'), { code: 0, ok: true, states: ['Provider ok', 'Models ok', 'Model ok'] })
  assert.deepEqual(await probe('lab'), { code: 0, ok: true, states: ['Provider ok', 'Models ok', 'Model note'] })
  assert.deepEqual(await probe('deepseek'), { code: 1, ok: false, states: ['Settings problem'] })
  assertFailed(await runInProcess(home.root, ['model', 'probe', 'lab:nothing']), 'cli/not-found', 'small')
})

test('a refused key, a server that is gone and one that answers nonsense are told apart', async (t) => {
  const refused = await startRawServer(t, '{"error": {"message": "no such key sk-lab-secret-key"}}', 401)
  const nonsense = await startRawServer(t, '<html>hello</html>')
  const home = homeWith(
    t,
    `providers:
  refused: {base_url: "${refused}", api_key: sk-lab-secret-key}
  gone: {base_url: "http://127.0.0.1:1/v1"}
  nonsense: {base_url: "${nonsense}"}
`,
  )
  const stateOf = async (words: string) => {
    const { stdout } = await runInProcess(home.root, ['model', 'probe', words, '--json'])
    assert.ok(!stdout.includes('sk-lab-secret-key'))
    const { checks } = parsed(stdout)
    return checks.map(({ subject, state, code }: Record<string, string>) =>
      [subject, state, code ?? ''].join(' ').trim(),
    )
  }
  assert.deepEqual(await stateOf('refused:m'), ['Provider ok', 'Models problem', 'Model problem provider/auth'])
  assert.deepEqual(await stateOf('gone:m'), ['Provider ok', 'Models problem', 'Model problem provider/network'])
  assert.deepEqual(await stateOf('nonsense:m'), ['Provider ok', 'Models note', 'Model problem provider/bad-response'])
})

test('the model is written in the form that the file has, and comments stay', async (t) => {
  const server = await startServer(t)
  const other = await startAnthropicServer({ models: () => [{ id: 'claude', max_input_tokens: 200_000 }] })
  t.after(other.stop)
  const servers = `providers:
  lab: {base_url: "${server.baseUrl}"}
  other: {base_url: "${other.baseUrl}", api_mode: anthropic_messages}
`
  const flat = homeWith(t, `# mine\nmodel: large # the good one\nprovider: lab\n${servers}`)
  assert.equal((await runInProcess(flat.root, ['model', 'set', 'other:claude'])).code, 0)
  assert.match(
    readFileSync(flat.configFile, 'utf8'),
    /^# mine\nmodel: claude # the good one\nprovider: other\nproviders:/,
  )
  assert.equal((await runInProcess(flat.root, ['model', 'set', 'lab:SMALL'])).code, 0)
  assert.match(
    readFileSync(flat.configFile, 'utf8'),
    /model: small # the good one\nprovider: lab\n[\s\S]*context_length: 32000/,
  )

  const mapping = homeWith(
    t,
    `model:\n  default: old # was good\n  provider: custom\n  base_url: http://127.0.0.1:1/v1\n  api_key: \${OLD_KEY}\n  context_length: 64000\n${servers}`,
  )
  const { stdout, code } = await runInProcess(mapping.root, ['model', 'set', 'other:claude', '--json'])
  assert.equal(code, 0)
  assert.deepEqual(parsed(stdout), { provider: 'other', model: 'claude', movedTo: 'providers.custom' })
  const text = readFileSync(mapping.configFile, 'utf8')
  assert.match(text, /^model:\n {2}default: claude # was good\n {2}provider: other\n {2}context_length: 200000\n/)
  for (const kept of ['http://127.0.0.1:1/v1', '${OLD_KEY}', 'model: old']) assert.ok(text.includes(kept), text)
  assert.equal((await runInProcess(mapping.root, ['config', 'check'], { environment: { OLD_KEY: 'x' } })).code, 0)
})

test('a model that does not exist changes nothing, unless it is not to be checked', async (t) => {
  const server = await startServer(t)
  const home = homeWith(t, `model: small\nproviders: {lab: {base_url: "${server.baseUrl}"}}\n`)
  const before = readFileSync(home.configFile, 'utf8')
  assertFailed(await runInProcess(home.root, ['model', 'set', 'lab:lrge']), 'cli/not-found', 'large')
  assertFailed(await runInProcess(home.root, ['model', 'set', 'deepseek:x']), 'cli/failed', 'DEEPSEEK_API_KEY')
  assert.equal(readFileSync(home.configFile, 'utf8'), before)
  assert.equal((await runInProcess(home.root, ['model', 'set', 'lab:private', '--unchecked'])).code, 0)
  assert.match(readFileSync(home.configFile, 'utf8'), /model: private\n/)
})

test('without a provider, a model that no provider has and a probe ask for the name of one', async (t) => {
  const home = homeWith(t, 'http: {port: 0}\n')
  for (const words of [['set', 'gpt-9'], ['probe']])
    assertFailed(await runInProcess(home.root, ['model', ...words]), 'cli/not-found', '<provider>:<model>')
})

test('a link stays a link, and a read-only file and a dangling link are refused', async (t) => {
  const server = await startServer(t)
  const home = homeWith(t, '')
  const target = join(home.root, 'real.yaml')
  writeFileSync(target, `providers: {lab: {base_url: "${server.baseUrl}"}}\n`, { mode: 0o600 })
  rmSync(home.configFile)
  symlinkSync(target, home.configFile)
  assert.equal((await runInProcess(home.root, ['model', 'set', 'lab:small'])).code, 0)
  assert.match(readFileSync(target, 'utf8'), /model: small/)
  chmodSync(target, 0o400)
  assertFailed(await runInProcess(home.root, ['model', 'set', 'lab:large']), 'config/unwritable')
  assert.match(readFileSync(target, 'utf8'), /model: small/)
  rmSync(target)
  assertFailed(await runInProcess(home.root, ['model', 'set', 'ollama:x', '--unchecked']), 'config/unwritable')
})

test('in a terminal the provider, its key and the model are asked for, tried and written', async (t) => {
  const server = await startServer(t)
  const home = homeWith(t, 'http: {port: 0}\n')
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = Object.assign(new PassThrough(), { isTTY: true })
  const answers = [
    ['Provider', 'stranger'],
    ['Provider', 'custom'],
    ['Address', server.baseUrl],
    ['name for the server', 'lab'],
    ['Key (not shown', 'lab-secret-key'],
    ['Model of lab', 'LAR'],
  ]
  let shown = ''
  output.on('data', (chunk: Buffer) => {
    shown = stripVTControlCharacters(shown + chunk.toString())
    const [next] = answers
    const question = shown.slice(shown.lastIndexOf('\n') + 1)
    if (next === undefined || !question.includes(next[0] ?? '') || !question.endsWith(' ')) return
    answers.shift()
    setImmediate(() => input.write(`${next[1]}\n`))
  })
  const context: CliContext = {
    ...createContext('1.0.0', { rootHome: home.root, profile: 'default', home: home.root }),
    environment: {},
    input,
    output,
  }
  await modelChoose(context, { json: false })
  assert.deepEqual(answers, [])
  assert.match(shown, /✓ Model: large \(lab\) answers/)
  assert.ok(!shown.includes('lab-secret-key'))
  assert.match(readFileSync(home.envFile, 'utf8'), /^LAB_API_KEY=lab-secret-key$/m)
  const { model, provider, key } = parsed((await runInProcess(home.root, ['model', '--json'])).stdout)
  assert.deepEqual([model, provider, key], ['large', 'lab', 'LAB_API_KEY'])
  assert.equal(server.requests.at(-1)?.headers['authorization'], 'Bearer lab-secret-key')
})

test('an end of the input changes nothing and says so', async (t) => {
  const home = homeWith(t, 'http: {port: 0}\n')
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = Object.assign(new PassThrough(), { isTTY: true })
  const context: CliContext = {
    ...createContext('1.0.0', { rootHome: home.root, profile: 'default', home: home.root }),
    environment: {},
    input,
    output,
  }
  const before = readFileSync(home.configFile, 'utf8')
  input.end()
  await assert.rejects(modelChoose(context, { json: false }), { code: 'cli/failed' })
  assert.equal(readFileSync(home.configFile, 'utf8'), before)
})
