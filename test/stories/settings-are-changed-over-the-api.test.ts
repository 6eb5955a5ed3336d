/**
 * `/api/settings`: what the form of the settings does with config.yaml and `.env`.
 */
import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, refuseStrangers } from './support.ts'

const canary = (number: number) => `sk-canary-${number}-0123456789abcdefghij`

const configText = `# The house.
model: test-model # the small one
provider: demo
api_key: ${canary(1)}

providers:
  mine:
    base_url: http://user:${canary(2)}@127.0.0.1:9/v1
    api_key: ${canary(3)}
    extra_headers: { X-Workspace: ${canary(4)} }
mcp_servers:
  files:
    enabled: false
    command: files
    args: [--token, ${canary(5)}, --api-key=${canary(6)}]
    env: { FILES_SECRET: ${canary(7)}, OTHER: ${canary(8)} }
  web:
    enabled: false
    url: https://example.org/mcp
    headers: { Authorization: Bearer ${canary(9)} }
http:
  port: 0
# old_api_key: ${canary(10)}
platforms:
  webhook:
    enabled: false
    secret: ${canary(11)}
    routes: { deploy: { secret: "${canary(12)}", deliver: log } }
  telegram:
    enabled: false
    token: "123456:${canary(13)}"
plugins:
  entries: { notes: { password: ${canary(14)} } }
log:
  level: info # keep
`

const environmentText = `OPENAI_API_KEY=${canary(15)}
DISCORD_BOT_TOKEN=${canary(16)}
SOME_SERVICE=${canary(17)}
DATABASE_URL=postgres://me:${canary(18)}@db/x
export SLACK_APP_TOKEN="${canary(19)}"
PASSPHRASE=${canary(20)}
`

async function start(t: TestContext) {
  const gateway = await startTestGateway(t, {
    configText,
    prepare: ({ envFile }) => writeFileSync(envFile, environmentText, { mode: 0o600 }),
  })
  const get = async (path: string) => await answerOf(await gateway.http(path))
  const post = async (path: string, body: unknown) => await answerOf(await gateway.post(path, body))
  const revision = async () => String(at((await get('/api/settings')).body, 'revision'))
  return { gateway, get, post, revision, file: () => readFileSync(gateway.home.configFile, 'utf8') }
}

async function answerOf(response: Response) {
  const body: unknown = await response.json()
  return { status: response.status, code: at(body, 'error', 'code'), body }
}

function settingAt(settings: unknown, path: string): unknown {
  const values = at(settings, 'values')
  assert.ok(Array.isArray(values))
  return values.find((entry) => String(at(entry, 'path')) === path.replaceAll('.', ','))
}

test('a change is shown, then saved with the comments and the order of the file, and applies', async (t) => {
  const { gateway, get, post, revision, file } = await start(t)
  const changes = [
    { path: ['model'], value: 'a-larger-model' },
    { path: ['agent', 'model_timeout'], value: 90 },
    { path: ['log', 'level'], value: 'debug' },
    { path: ['http', 'max_body_mb'], value: 20 },
  ]
  const before = file()
  const preview = await post('/api/settings/preview', { changes })
  assert.equal(preview.status, 200)
  assert.match(
    String(at(preview.body, 'diff')),
    /^-model: test-model # the small one\n\+model: a-larger-model # the small one$/m,
  )
  assert.deepEqual(at(preview.body, 'restart'), ['http.max_body_mb'])
  assert.deepEqual(at(preview.body, 'problems'), [])
  assert.equal(file(), before)

  const saved = await post('/api/settings', { revision: await revision(), changes })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  assert.match(file(), /^# The house\.\nmodel: a-larger-model # the small one\nprovider: demo\n/)
  assert.match(file(), /level: debug # keep/)
  assert.match(file(), new RegExp(canary(13)))
  assert.equal(statSync(gateway.home.configFile).mode & 0o777, 0o600)
  const { body } = await get('/api/settings')
  assert.equal(at(settingAt(body, 'model'), 'value'), 'a-larger-model')
  assert.equal(at(settingAt(body, 'model'), 'origin'), 'config.yaml:2')
  assert.deepEqual(at(body, 'pending_restart'), ['http.max_body_mb'])

  const reset = [{ path: ['agent', 'model_timeout'] }]
  assert.equal((await post('/api/settings', { revision: await revision(), changes: reset })).status, 200)
  assert.equal(at(settingAt((await get('/api/settings')).body, 'agent.model_timeout'), 'source'), 'default')
})

test('what is invalid is refused with its line and reason, and nothing is written', async (t) => {
  const { post, revision, file } = await start(t)
  const before = file()
  const changes = [{ path: ['http', 'port'], value: 'abc' }]
  const preview = await post('/api/settings/preview', { changes })
  const [problem] = [at(preview.body, 'problems', 0)]
  assert.deepEqual([at(problem, 'line'), at(problem, 'path')], [22, 'http.port'])
  const refused = await post('/api/settings', { revision: await revision(), changes })
  assert.deepEqual([refused.status, refused.code], [422, 'config/invalid'])
  assert.match(String(at(refused.body, 'error', 'message')), /config\.yaml:22:\d+ {2}http\.port/)
  // A value above would be replaced.
  const through = [{ path: ['model', 'default'], value: 'x' }]
  assert.equal(
    (await post('/api/settings', { revision: await revision(), changes: through })).code,
    'config/unreadable',
  )
  assert.equal(file(), before)
})

test('a file that was changed meanwhile is not overwritten', async (t) => {
  const { gateway, post, revision, file } = await start(t)
  const seen = await revision()
  writeFileSync(gateway.home.configFile, `${file()}timezone: Europe/Berlin\n`)
  const changes = [{ path: ['model'], value: 'mine' }]
  const refused = await post('/api/settings', { revision: seen, changes })
  assert.deepEqual([refused.status, refused.code], [409, 'config/changed'])
  assert.match(file(), /^model: test-model[\s\S]*Europe\/Berlin\n$/m)
  assert.equal((await post('/api/settings', { revision: await revision(), changes })).status, 200)
  assert.match(file(), /^model: mine[\s\S]*Europe\/Berlin\n$/m)
})

test('secrets are written and never shown, in twenty places', async (t) => {
  const { gateway, get, post, revision, file } = await start(t)
  const changes = [
    { path: ['api_key'], value: 'sk-new-secret-0123456789' },
    { path: ['plugins', 'entries', 'notes', 'password'], value: 'short' },
    { path: ['http', 'port'], value: 'abc' },
  ]
  const answers = [
    await get('/api/settings'),
    await get('/api/settings/schema'),
    await post('/api/settings/preview', { changes }),
    await post('/api/settings', { revision: await revision(), changes }),
    await post('/api/settings', { revision: await revision(), changes: changes.slice(0, 2) }),
    await post('/api/settings/preview', { changes: [{ path: ['api_key'] }] }),
    await post('/api/settings/variables', { name: 'OPENAI_API_KEY', value: canary(21) }),
    await post('/api/settings/variables', { name: 'PASSPHRASE', value: null }),
    await get('/api/settings'),
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 422, 200, 200, 200, 200, 200],
  )
  const said = JSON.stringify(answers)
  for (let number = 1; number <= 21; number += 1) assert.ok(!said.includes(canary(number)), `canary ${number}`)
  assert.doesNotMatch(said, /sk-new-secret|"short"|: short/)
  assert.match(said, /new value, not shown/)
  assert.equal(at(settingAt(answers[0]?.body, 'api_key'), 'is_secret'), true)
  assert.match(file(), /api_key: sk-new-secret-0123456789/)
  const environment = readFileSync(gateway.home.envFile, 'utf8')
  assert.match(environment, new RegExp(`OPENAI_API_KEY=${canary(21)}`))
  assert.doesNotMatch(environment, /PASSPHRASE/)
  // The mark of a secret is not a value of it.
  const marked = await post('/api/settings/preview', { changes: [{ path: ['api_key'], value: '(set, not shown)' }] })
  assert.equal(marked.code, 'http/bad-request')
})

test('a variable that decides in place of the file is named', async (t) => {
  const { post } = await start(t)
  const changes = [{ path: ['platforms', 'discord', 'token'], value: 'abc' }]
  const { body } = await post('/api/settings/preview', { changes })
  assert.deepEqual(at(body, 'overruled'), [{ path: 'platforms.discord.token', variable: 'DISCORD_BOT_TOKEN' }])
})

test('settings are the business of who holds the token, and of no foreign page', async (t) => {
  const { gateway, revision } = await start(t)
  const changes = [{ path: ['model'], value: 'x' }]
  await refuseStrangers(gateway, [
    ['GET', '/api/settings'],
    ['GET', '/api/settings/schema'],
    ['POST', '/api/settings/preview', { changes }],
    ['POST', '/api/settings', { revision: await revision(), changes }],
    ['POST', '/api/settings/variables', { name: 'A', value: 'b' }],
  ])
})

test('bad input is refused', async (t) => {
  const { post, revision } = await start(t)
  const seen = await revision()
  const refused: readonly (readonly [string, unknown])[] = [
    ['/api/settings/preview', {}],
    ['/api/settings/preview', { changes: [] }],
    ['/api/settings/preview', { changes: [{ path: [] }] }],
    ['/api/settings/preview', { changes: [{ path: 'model' }] }],
    ['/api/settings', { changes: [{ path: ['model'], value: 'x' }] }],
    ['/api/settings', { revision: seen, changes: [{ path: ['model'], values: 'x' }] }],
    ['/api/settings/variables', { name: 'A B', value: 'x' }],
    ['/api/settings/variables', { name: 'A', value: 'two\nlines' }],
    ['/api/settings/variables', { name: 'A', value: '' }],
    ['/api/settings/variables', 'no JSON'],
  ]
  for (const [path, body] of refused)
    assert.equal((await post(path, body)).code, 'http/bad-request', JSON.stringify(body))
})
