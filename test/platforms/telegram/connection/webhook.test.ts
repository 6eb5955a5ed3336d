import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createAdapter } from '../../../../platforms/telegram/adapter.ts'
import { createBotApi } from '../../../../platforms/telegram/connection/api.ts'
import { watchWebhook } from '../../../../platforms/telegram/connection/watchdog.ts'
import { createWebhookRoute } from '../../../../platforms/telegram/connection/webhook.ts'
import { httpConfig } from '../../../../src/http/config.ts'
import { createHttpServer } from '../../../../src/http/server.ts'
import { HermesError } from '../../../../src/lib/errors.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { readyState } from '../../../http/support.ts'
import { createRecordingContext } from '../../../kit/recording-context.ts'
import { startTelegramServer } from '../../../kit/servers/telegram-server.ts'
import { createVirtualTime } from '../../virtual-time.ts'
import { signal } from '../support.ts'
import { webhookSecret as secret, telegramForgeries } from './forgeries.ts'

/** A gateway that Telegram can call, and the adapters it serves. */
async function serve(t: TestContext) {
  const telegram = await startTelegramServer()
  const http = createHttpServer({
    settings: httpConfig.http.parse({ port: 0 }),
    allowed: () => httpConfig.http.parse({}),
    token: () => 'test-token-of-sufficient-length',
    readiness: readyState,
    log: silentLog,
    limits: { graceMs: 0 },
  })
  const { url } = await http.start()
  const adapters: ReturnType<typeof createAdapter>[] = []
  t.after(async () => {
    for (const adapter of adapters) await adapter.disconnect()
    await telegram.close()
    await http.stop()
  })
  return {
    telegram,
    url,
    async connect(
      options: Readonly<Record<string, unknown>> = {},
      account = 'default',
      health: (state: string, reason?: string) => void = () => undefined,
    ) {
      const base = { token: telegram.bot.token, api_root: telegram.url, webhook_url: url, webhook_secret: secret }
      const gateway = createRecordingContext({ platform: 'telegram', account, options: { ...base, ...options } })
      const connection = { ...gateway.context.connection, health }
      const adapter = createAdapter({ ...gateway.context, connection, route: (route) => void http.route(route) })
      adapters.push(adapter)
      await adapter.connect(signal)
      return { gateway, adapter }
    },
  }
}

test('the webhook responds with 200 when the message is stored', async (t) => {
  const { telegram, connect, url } = await serve(t)
  const { gateway } = await connect()
  const release = gateway.holdAccepts()
  const { confirmed } = telegram.bot.say('Hello')
  await gateway.nextAttempt()
  assert.equal(telegram.bot.delivery.pending().length, 1)
  release()
  await confirmed
  assert.equal(gateway.ingestedEvents[0]?.event.text, 'Hello')
  assert.ok(gateway.received() > 0)
  const set = telegram.bot.calls.find(({ method }) => method === 'setWebhook')?.fields
  assert.equal(set?.['url'], `${url}/webhooks/telegram`)
  assert.equal(set?.['secret_token'], secret)
  assert.equal(telegram.faults.calls('getUpdates'), 0)
})

test('Telegram delivers a message again until it is stored', async (t) => {
  const { telegram, connect } = await serve(t)
  const { gateway } = await connect()
  gateway.failNextAccept(new HermesError('store/full'))
  await telegram.bot.say('keep me').confirmed
  assert.equal(gateway.attempts(), 2)
  assert.equal(gateway.ingestedEvents.length, 1)
  assert.match(
    String(telegram.bot.delivery.webhookInfo()['last_error_message']),
    /^Wrong response from the webhook: 507/,
  )
})

test('a request without the secret is refused', async (t) => {
  const { connect, url, telegram } = await serve(t)
  const { gateway } = await connect()
  const update = JSON.stringify({
    update_id: 1,
    message: { message_id: 1, chat: { id: 42, type: 'private' }, text: 'x' },
  })
  const call = (headers: Readonly<Record<string, string>>, body = update) =>
    fetch(`${url}/webhooks/telegram`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
  for (const given of [undefined, '', 'wrong', `${secret}x`, secret.slice(1)]) {
    const response = await call(given === undefined ? {} : { 'x-telegram-bot-api-secret-token': given })
    assert.deepEqual([response.status, await response.text()], [401, ''])
  }
  assert.equal((await call({ 'x-telegram-bot-api-secret-token': secret }, 'no json')).status, 400)
  assert.equal((await call({ 'x-telegram-bot-api-secret-token': secret }, '[]')).status, 200)
  assert.equal(gateway.attempts(), 0)
  await telegram.bot.say('Hello').confirmed
  assert.equal(gateway.ingestedEvents.length, 1)
})

test('no forged call is accepted, and the genuine one is', async () => {
  const accepted: string[] = []
  const route = createWebhookRoute(
    '/webhooks/telegram',
    secret,
    async () => void accepted.push('update'),
    () => void accepted.push('call'),
  )
  const update = { update_id: 1, secret_token: secret, message: { message_id: 1, chat: { id: 42 }, text: 'x' } }
  const call = async (headers: Readonly<Record<string, string>>, query = '') => {
    const url = `http://gateway.test/webhooks/telegram${query}`
    return (await route.handle(new Request(url, { method: 'POST', headers, body: JSON.stringify(update) }))).status
  }
  for (const { name, headers, query } of telegramForgeries) assert.equal(await call(headers, query), 401, name)
  assert.deepEqual(accepted, [])
  assert.equal(await call({ 'x-telegram-bot-api-secret-token': secret }), 200)
  assert.deepEqual(accepted, ['call', 'update'])
})

test('each account has its own webhook path', async (t) => {
  const { telegram, connect, url } = await serve(t)
  const other = telegram.addBot({ id: 777, username: 'OtherBot' })
  const first = await connect({ webhook_url: `${url}/webhooks/telegram` })
  const second = await connect({ webhook_url: `${url}/webhooks/telegram`, token: other.token }, 'work')
  await Promise.all([telegram.bot.say('to the first').confirmed, other.say('to the second').confirmed])
  assert.deepEqual(
    [first, second].map(({ gateway }) =>
      gateway.ingestedEvents.map(({ event, keys }) => [event.source.account, event.text, keys[0]]),
    ),
    [[['default', 'to the first', 'tg:123456:1001']], [['work', 'to the second', 'tg:777:1001']]],
  )
})

test('the webhook stays set after a stop, and is removed by mode polling', async (t) => {
  const { telegram, connect } = await serve(t)
  const { adapter } = await connect()
  await adapter.disconnect()
  assert.equal(telegram.faults.calls('deleteWebhook'), 0)
  const { gateway } = await connect({ webhook_url: undefined, webhook_secret: undefined })
  assert.equal(telegram.faults.calls('deleteWebhook'), 1)
  await telegram.bot.say('Hello').confirmed
  assert.equal(gateway.ingestedEvents.length, 1)
})

test('a webhook of another program is not removed, and is reported', async (t) => {
  const { telegram, connect } = await serve(t)
  telegram.bot.delivery.setWebhook({ url: 'http://127.0.0.1:9/another/program' })
  const health = Promise.withResolvers<string>()
  await connect({ mode: 'polling' }, 'default', (state, reason) => health.resolve(`${state}: ${reason}`))
  assert.match(await health.promise, /^degraded: .*\bwebhook\b/)
  assert.equal(telegram.faults.calls('deleteWebhook'), 0)
})

test('the watchdog reports a webhook that Telegram cannot call', async (t) => {
  const time = createVirtualTime()
  const over = new AbortController()
  t.after(() => over.abort())
  const url = 'https://gateway.example/webhooks/telegram'
  const healths: string[] = []
  let received = 0
  let callApi = async (): Promise<unknown> => ({ url, pending_update_count: 0 })
  const { context } = createRecordingContext()
  const connection = {
    ...context.connection,
    health: (state: string, reason = '') => void healths.push(`${state} ${reason}`.trim()),
    received() {
      received += 1
    },
  }
  const api = createBotApi(
    { token: '1:abc', apiRoot: 'http://127.0.0.1/', ownApiRoot: true },
    { callApi: () => callApi() },
  )
  const account = { context: { ...context, clock: time.clock, connection }, api, stopping: over }
  void watchWebhook(account, url, time.sleep)
  await time.advance(60_000)
  assert.deepEqual([received, healths], [2, []])
  const lastError = {
    last_error_message: 'Wrong response from the webhook: 502 Bad Gateway',
    last_error_date: time.clock() / 1_000,
  }
  callApi = async () => ({ url, pending_update_count: 3, ...lastError })
  await time.advance(60_000)
  assert.equal(healths.length, 1)
  assert.match(healths.splice(0)[0] ?? '', /^degraded .*: 502 Bad Gateway$/)
  callApi = async () => ({ url, pending_update_count: 0, ...lastError })
  await time.advance(60_000)
  assert.deepEqual(healths.splice(0), ['connected'])
  callApi = async () => ({ pending_update_count: 0 })
  await time.advance(60_000)
  assert.match(healths.splice(0)[0] ?? '', /^degraded /)
  callApi = () => Promise.reject(new Error('connect ECONNREFUSED'))
  await time.advance(60_000)
  assert.deepEqual([healths, received], [['degraded Telegram could not be reached: connect ECONNREFUSED'], 3])
})
