import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { assertFailed, homeWith, runInProcess } from './support.ts'

test('hermes webhook adds, tests, lists and removes a route of a running gateway', async (t) => {
  const routes = { fixed: { secret: 'a-fixed-secret-1' } }
  const { home, waitForEvent } = await startTestGateway(t, {
    config: { platforms: { webhook: { enabled: true, routes } } },
  })
  const hermes = (...words: string[]) => runInProcess(home.root, ['webhook', ...words])
  const added = await hermes('subscribe', 'issues', '--events', 'issues, push', '--prompt', 'It is {title}', '--json')
  assert.equal(added.code, 0, added.stderr)
  const { secret, url } = JSON.parse(added.stdout)
  assert.ok(secret.length >= 40)
  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/webhooks\/issues$/)
  const file = join(home.root, 'webhook_subscriptions.json')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const tested = await hermes('test', 'issues', '--payload', '{"title": "new"}')
  assert.match(tested.stdout, /^202 .*accepted/)
  await waitForEvent('message:received', { platform: 'webhook', user_id: 'issues' })
  assert.match((await hermes('test', 'fixed')).stdout, /^202 /)
  const listed = await hermes('list')
  assert.match(listed.stdout, /fixed · all events · to log · config.yaml\nissues · issues, push · to log/)
  assert.ok(!listed.stdout.includes(secret) && !(await hermes('list', '--json')).stdout.includes(secret))
  assert.equal((await hermes('remove', 'issues')).code, 0)
  assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {})
  const refused = await fetch(url, { method: 'POST', body: '{}' })
  assert.equal(refused.status, 404)
})

test('hermes webhook refuses what cannot work, and says what is missing', async (t) => {
  const config = 'platforms: { webhook: { routes: { fixed: { secret: a-fixed-secret-1 } } } }\n'
  const { root } = homeWith(t, config)
  const hermes = (...words: string[]) => runInProcess(root, ['webhook', ...words])
  assertFailed(await hermes('add', 'Not a name'), 'cli/usage', /lower-case/)
  assertFailed(await hermes('add', 'fixed'), 'cli/usage', /config\.yaml/)
  assertFailed(await hermes('add', 'one', '--deliver-only'), 'cli/usage', /--deliver/)
  assertFailed(await hermes('add', 'one', '--cron-job', 'nosuch'), 'cli/not-found', /nosuch/)
  assertFailed(await hermes('add', 'one', '--secret', 'abc'), 'cli/usage', /8 characters/)
  assertFailed(await hermes('add', 'one', '--deliver', 'telegram'), 'cli/usage', /telegram is off/)
  assertFailed(await hermes('remove', 'one'), 'cli/usage', /no route/)
  assertFailed(await hermes('test', 'one'), 'cli/usage', /no route/)
  assert.match((await hermes('add', 'one')).stdout, /Webhooks are off/)
  writeFileSync(join(root, 'webhook_subscriptions.json'), '{ "short": { "secret": "abc" } }')
  assert.match((await hermes('list')).stdout, /short · .*NOT USABLE: .*8 characters/)
  const missing = await hermes('test', 'short')
  assert.match(missing.stderr, /\(cli\/no-daemon\)/)
  writeFileSync(join(root, 'webhook_subscriptions.json'), '{ "one": ')
  assertFailed(await hermes('add', 'two'), 'cli/usage', /correct or move/)
})
