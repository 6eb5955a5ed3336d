/**
 * `/api/models`: what the page does to connect a model.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { readConfigTree } from '../../src/config/edit-config.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

const key = 'sk-test-0123456789abcdef'

async function start(t: TestContext) {
  const gateway = await startTestGateway(t, {
    config: { provider: 'demo', base_url: '', api_key: '', model: '' },
    model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
  })
  const post = async (path: string, body: object) => {
    const response = await gateway.post(path, body)
    return { status: response.status, body: await response.json() }
  }
  return { gateway, post }
}

test('a server is tried and stored, and answers the next message', async (t) => {
  const { gateway, post } = await start(t)
  const offers: unknown = await (await gateway.http('/api/models')).json()
  assert.equal(at(offers, 'current', 'provider'), 'demo')
  assert.match(JSON.stringify(offers), /"name":"anthropic","label":"Anthropic","is_ready":false/)

  const connection = { base_url: gateway.model.baseUrl, key, model: 'a-model' }
  const tried = await post('/api/models/try', connection)
  assert.deepEqual(tried, { status: 200, body: { answer: 'You said: Greet me in one short sentence.' } })
  assert.equal(existsSync(gateway.home.envFile) && readFileSync(gateway.home.envFile, 'utf8').includes(key), false)

  const stored = await post('/api/models/connect', connection)
  assert.deepEqual(stored, { status: 200, body: { provider: 'server', model: 'a-model' } })
  assert.match(readFileSync(gateway.home.envFile, 'utf8'), new RegExp(`SERVER_API_KEY=.*${key}`))
  assert.equal(statSync(gateway.home.envFile).mode & 0o077, 0)
  assert.doesNotMatch(readFileSync(gateway.home.configFile, 'utf8'), new RegExp(key))
  await gateway.say('hello')
  await gateway.waitForReply('You said: hello')
  assert.equal(at(gateway.model.requests.at(-1), 'headers', 'authorization'), `Bearer ${key}`)
})

test('what cannot be connected is refused with the reason, and nothing is stored', async (t) => {
  const { gateway, post } = await start(t)
  const before = readFileSync(gateway.home.configFile, 'utf8')
  const refused = [
    { provider: 'no-such-provider', model: 'x' },
    { base_url: 'file:///etc/passwd', model: 'x' },
    { base_url: 'http://user:password@127.0.0.1/v1', model: 'x' },
    { base_url: gateway.model.baseUrl, key: 'two words', model: 'x' },
    { base_url: gateway.model.baseUrl, model: '' },
    { base_url: gateway.model.baseUrl, model: '${HOME}' },
    { base_url: 'http://127.0.0.1/${HOME}', model: 'x' },
  ]
  for (const connection of refused)
    for (const path of ['/api/models/try', '/api/models/connect'])
      assert.equal((await post(path, connection)).status, 400, JSON.stringify(connection))
  const closed = await post('/api/models/try', { base_url: 'http://127.0.0.1:9/v1', key, model: 'x' })
  assert.equal(closed.status, 502)
  assert.doesNotMatch(JSON.stringify(closed.body), new RegExp(key))
  assert.equal(readFileSync(gateway.home.configFile, 'utf8'), before)
})

test('the key of a provider goes to no address that stood in the configuration before', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { provider: '', base_url: 'http://127.0.0.1:9/v1', api_key: 'old' },
  })
  const response = await gateway.post('/api/models/connect', { provider: 'openai', model: 'gpt-5', key })
  assert.equal(response.status, 200)
  const config = readConfigTree(gateway.home)
  assert.deepEqual([at(config, 'provider'), at(config, 'model')], ['openai', 'gpt-5'])
  assert.deepEqual([at(config, 'base_url'), at(config, 'api_key')], [undefined, undefined])
  assert.equal(at(config, 'providers', 'custom', 'base_url'), 'http://127.0.0.1:9/v1')
})

test('a server that has a name already is used by that name, and its key is not lost', async (t) => {
  const model = () => ({ text: 'hello' })
  const gateway = await startTestGateway(t, {
    model,
    config: { provider: 'demo', base_url: '', api_key: '', model: '' },
  })
  gateway.configure({ providers: { lab: { base_url: gateway.model.baseUrl, api_key: 'lab-key-123' } } })
  const post = async (body: object) => (await gateway.post('/api/models/connect', body)).json()
  await gateway.waitForLog({ event: 'config.reloaded' })
  assert.equal(at(await post({ base_url: `${gateway.model.baseUrl}/`, model: 'a-model' }), 'provider'), 'lab')
  const config = readFileSync(gateway.home.configFile, 'utf8')
  assert.match(config, /lab-key-123/)
  assert.equal((await gateway.post('/api/models/connect', { provider: 'lab', model: 'x', key })).status, 400)
})
