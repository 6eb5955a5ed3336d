/**
 * What the dashboard does with jobs, webhooks and plugins: `/api/jobs/…/result`, `/api/webhooks` and `/api/plugins/switch`.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, refuseStrangers } from './support.ts'

const secret = 'a-secret-of-the-webhook-0123456789'

async function start(t: TestContext) {
  const gateway = await startTestGateway(t, {
    config: {
      platforms: {
        webhook: {
          enabled: true,
          secret,
          routes: { deploys: { prompt: 'Deployed {message}', deliver: 'log', events: [] } },
        },
      },
    },
    model: ({ lastUserText }) => ({ text: `You said: ${lastUserText}` }),
    prepare({ plugins }) {
      const folder = join(plugins, 'notes')
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'plugin.yaml'), 'name: notes\nversion: 1.0.0\ndescription: Takes notes.\n')
      writeFileSync(join(folder, 'index.ts'), 'export function register() {}\n')
    },
  })
  const call = async (path: string, body?: unknown) => {
    const response = await (body === undefined ? gateway.http(path) : gateway.post(path, body))
    const answer: unknown = await response.json()
    return { status: response.status, code: at(answer, 'error', 'code'), body: answer }
  }
  return { gateway, call }
}

test('a webhook is listed without its secret, tested, and shows its last events', async (t) => {
  const { gateway, call } = await start(t)
  const listed = await call('/api/webhooks')
  assert.equal(at(listed.body, 'is_enabled'), true)
  assert.equal(at(listed.body, 'routes', 0, 'name'), 'deploys')
  assert.deepEqual(at(listed.body, 'routes', 0, 'problems'), [])
  assert.deepEqual(at((await call('/api/webhooks/deploys/deliveries')).body, 'deliveries'), [])
  const tested = await call('/api/webhooks/test', { name: 'deploys', payload: { message: 'version 7' } })
  assert.equal(at(tested.body, 'status'), 202, JSON.stringify(tested))
  await gateway.modelRequest(0)
  const { body } = await call('/api/webhooks/deploys/deliveries')
  assert.match(String(at(body, 'deliveries', 0, 'id')), /^test-/)
  assert.equal(typeof at(body, 'deliveries', 0, 'seq'), 'number')
  for (const answer of [listed, tested, body]) assert.doesNotMatch(JSON.stringify(answer), new RegExp(secret))
  assert.equal((await call('/api/webhooks/nothing/deliveries')).code, 'http/not-found')
  assert.equal((await call('/api/webhooks/test', { name: 'nothing' })).code, 'http/not-found')
  assert.equal((await call('/api/webhooks/test', {})).code, 'http/bad-request')
})

test('a plugin is enabled and disabled in config.yaml', async (t) => {
  const { gateway, call } = await start(t)
  const stateOf = (answer: unknown) => {
    const plugins = at(answer, 'plugins')
    assert.ok(Array.isArray(plugins))
    return at(
      plugins.find((plugin) => at(plugin, 'id') === 'notes'),
      'state',
    )
  }
  assert.equal(stateOf((await call('/api/plugins')).body), 'off')
  assert.equal(stateOf((await call('/api/plugins/switch', { id: 'notes', enabled: true })).body), 'loaded')
  assert.match(readFileSync(gateway.home.configFile, 'utf8'), /"?enabled"?: ?\[ ?"?notes"? ?\]/)
  assert.equal(stateOf((await call('/api/plugins/switch', { id: 'notes', enabled: false })).body), 'disabled')
  assert.equal((await call('/api/plugins/switch', { id: 'nothing', enabled: true })).code, 'http/not-found')
  assert.equal((await call('/api/plugins/switch', { id: 'notes' })).code, 'http/bad-request')
})

test('a job shows its last result', async (t) => {
  const { gateway, call } = await start(t)
  const job = {
    action: 'create',
    name: 'weather',
    schedule: 'every 2h',
    prompt: 'How is the weather?',
    deliver: 'local',
  }
  const id = String(at((await call('/api/jobs', job)).body, 'jobs', 0, 'id'))
  assert.deepEqual((await call(`/api/jobs/${id}/result`)).body, { text: '' })
  await call('/api/jobs', { action: 'run', job_id: id })
  await gateway.waitForLog({ event: 'cron.ended' })
  assert.match(String(at((await call(`/api/jobs/${id}/result`)).body, 'text')), /You said:[\s\S]*weather/)
  assert.equal((await call('/api/jobs/nothing/result')).code, 'http/bad-request')
})

test('automations are the business of who holds the token, and of no foreign page', async (t) => {
  const { gateway } = await start(t)
  await refuseStrangers(gateway, [
    ['GET', '/api/jobs/x/result'],
    ['GET', '/api/webhooks'],
    ['GET', '/api/webhooks/deploys/deliveries'],
    ['POST', '/api/webhooks/test', { name: 'deploys' }],
    ['POST', '/api/plugins/switch', { id: 'notes', enabled: true }],
  ])
})
