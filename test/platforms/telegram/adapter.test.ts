import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import telegram from '../../../platforms/telegram/adapter.ts'
import { setBotCommands, toBotCommands } from '../../../platforms/telegram/connection/commands.ts'
import { createMentionMatcher } from '../../../platforms/telegram/inbound/mention-patterns.ts'
import { parseOptions } from '../../../platforms/telegram/options.ts'
import { errorCatalogue } from '../../../src/lib/error-catalogue.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import { startTelegramServer, type TelegramServerOptions } from '../../kit/servers/telegram-server.ts'
import { createTelegramTest, signal, startTelegramTest } from './support.ts'

const token = '123456:AAtest-token'

test('webhook_url accepts the address of the gateway or of the webhook', () => {
  const urlOf = (webhook_url: string, account = 'default') =>
    parseOptions({ token, webhook_url, webhook_secret: 's' }, account).webhook?.url
  assert.equal(urlOf('https://bot.example'), 'https://bot.example/webhooks/telegram')
  assert.equal(urlOf('https://bot.example/webhooks/telegram/'), 'https://bot.example/webhooks/telegram')
  assert.equal(urlOf('https://example.org/hermes/'), 'https://example.org/hermes/webhooks/telegram')
  assert.equal(urlOf('https://bot.example', 'work'), 'https://bot.example/webhooks/telegram/work')
  assert.equal(urlOf('https://bot.example/webhooks/telegram', 'work'), 'https://bot.example/webhooks/telegram/work')
})

test('webhook_url selects mode webhook, unless mode: polling is set', () => {
  const webhook = { token, webhook_url: 'https://bot.example', webhook_secret: 's' }
  assert.ok(parseOptions(webhook, 'default').webhook)
  assert.equal(parseOptions({ ...webhook, mode: 'polling' }, 'default').webhook, undefined)
})

test('invalid options are refused, and the error contains no secret', () => {
  const cases: readonly (readonly [Readonly<Record<string, unknown>>, string, RegExp])[] = [
    [{ token: 'secret words' }, 'config/invalid', /telegram\.token: /],
    [{ token, mode: 'webhook' }, 'config/invalid', /webhook_secret: /],
    [{ token, mode: 'webhook', webhook_secret: 'secret words' }, 'config/invalid', /webhook_secret: /],
    [{ token, mode: 'webhook', webhook_secret: 's' }, 'config/invalid', /webhook_url: /],
    [{ token, webhook_url: 'bot.example', webhook_secret: 's' }, 'config/invalid', /webhook_url: /],
    [{ token, api_root: 'ftp://x' }, 'config/invalid', /api_root: /],
    [{ token, mention_patterns: ['(a+)+$'] }, 'config/invalid', /mention_patterns: /],
  ]
  for (const [options, code, key] of cases) {
    assert.throws(
      () => parseOptions(options, 'default'),
      (error) =>
        error instanceof HermesError &&
        error.code === code &&
        key.test(error.message) &&
        !/secret words/.test(error.message),
      JSON.stringify(options),
    )
  }
})

test('mention patterns match whole words in any case and language', () => {
  const isNamed = createMentionMatcher(['hermes', '^bot', '\\bМаша\\b', 'mr. robot'])
  for (const text of ['Hermes?', 'say, HERMES!', '  Bot, go', 'эй маша', 'MR. ROBOT']) assert.ok(isNamed(text), text)
  for (const text of ['hermeshaus', 'a bot', 'машаня', 'mrx robot', '']) assert.ok(!isNamed(text), text)
})

test('the command menu contains only what Telegram can show', () => {
  const entry = (name: string, description = 'Does it.', argsHint = '') => ({ name, description, argsHint })
  assert.deepEqual(
    toBotCommands([entry('new', 'Begins.', '[name]'), entry('reload-mcp'), entry('help', 'x'.repeat(300))]),
    [
      { command: 'new', description: 'Begins. [name]' },
      { command: 'help', description: 'x'.repeat(256) },
    ],
  )
  assert.equal(toBotCommands(Array.from({ length: 150 }, (_, index) => entry(`c${index}`))).length, 100)
})

test('the command menu is set only when it has changed', async (t) => {
  const { server, gateway, adapter } = await startTelegramTest(t)
  await server.bot.called('setMyCommands')
  assert.deepEqual(server.bot.menu(), [
    { command: 'new', description: 'Begins a new conversation. [name]' },
    { command: 'stop', description: 'Stops the answer that is being written.' },
  ])
  await adapter.disconnect()
  const called: string[] = []
  const shown = {
    async call(method: string) {
      called.push(method)
      return server.bot.menu()
    },
    upload: assert.fail,
    fileUrl: assert.fail,
  }
  assert.equal(await setBotCommands(shown, gateway.context.menu.commands(), signal), false)
  gateway.commands.push({ name: 'help', description: 'Lists the commands.', argsHint: '' })
  assert.equal(await setBotCommands(shown, gateway.context.menu.commands(), signal), true)
  assert.deepEqual(called, ['getMyCommands', 'getMyCommands', 'setMyCommands'])
})

test('a failure to set the command menu does not affect messages', async (t) => {
  const chat = await createTelegramTest()
  t.after(chat.close)
  chat.server.faults.respond('getMyCommands', { status: 500, body: 'oh' })
  await chat.adapter.connect(signal)
  await chat.server.bot.say('Hello').confirmed
  assert.equal(chat.gateway.ingestedEvents.length, 1)
})

test('a file is fetched from the configured server; a path on its disk is refused', async (t) => {
  const { server, adapter } = await startTelegramTest(t)
  const { files, token: ours } = server.bot
  const ref = files.add(Buffer.from('abc'), '.txt')
  assert.deepEqual(await adapter.locate?.({ kind: 'document', ref }, signal), {
    url: `${server.url}/file/bot${ours}/documents/file_0.txt`,
    trusted: server.url,
  })
  await assert.rejects(async () => adapter.locate?.({ kind: 'document', ref: 'gone' }, signal), /wrong file_id/)
  const large = files.add(Buffer.alloc(21 * 1024 * 1024), '.bin')
  await assert.rejects(async () => adapter.locate?.({ kind: 'document', ref: large }, signal), /file is too big/)
  for (const path of ['/var/lib/bot/file', '../../etc/passwd', 'a/../../b', 'C:\\x', 'file:///etc/passwd', '..\\x']) {
    files.tellPath(path)
    await assert.rejects(async () => adapter.locate?.({ kind: 'document', ref }, signal), /--local/, path)
  }
})

/** Runs the doctor checks of an account. */
async function diagnoseAccount(
  t: TestContext,
  {
    server: setup = {},
    ...options
  }: { readonly server?: TelegramServerOptions } & Readonly<Record<string, unknown>> = {},
) {
  const server = await startTelegramServer(setup)
  t.after(server.close)
  const account = { token: server.bot.token, api_root: server.url, ...options }
  return {
    server,
    look: async () => (await telegram.diagnose?.({ account: 'default', options: account }, signal)) ?? [],
  }
}

test('doctor reports a working account', async (t) => {
  const { look, server } = await diagnoseAccount(t)
  const [identity, delivery, ...more] = await look()
  assert.deepEqual([identity?.state, identity?.text.includes('@HermesTestBot')], ['ok', true])
  assert.deepEqual([delivery?.state, delivery?.text.includes('mode: polling')], ['ok', true])
  assert.deepEqual(more, [])
  assert.deepEqual(
    server.bot.calls.map(({ method }) => method),
    ['getMe', 'getWebhookInfo'],
  )
})

test('doctor reports an invalid token and an unreachable Telegram', async (t) => {
  const { look, server } = await diagnoseAccount(t, { token: '1:wrong' })
  const [wrong] = await look()
  assert.deepEqual([wrong?.state, wrong?.text.includes('401: Unauthorized')], ['problem', true])
  assert.match(wrong?.advice ?? '', /@BotFather/)
  server.faults.startOutage('refuse')
  const [away] = await look()
  assert.equal(away?.state, 'problem')
  assert.ok(away?.text.startsWith(errorCatalogue['platform/connect-failed'].meaning))
  assert.match(away?.advice ?? '', /http:/)
})

test('doctor reports a webhook that prevents polling', async (t) => {
  const { look, server } = await diagnoseAccount(t)
  server.bot.delivery.setWebhook({ url: 'http://127.0.0.1:9/hidden-path' })
  const [, other] = await look()
  assert.equal(other?.state, 'problem')
  assert.match(other?.text ?? '', /http:\/\/127\.0\.0\.1:9(?!\/)/, 'the origin, without a path that may be secret')
  server.bot.delivery.setWebhook({ url: 'http://127.0.0.1:9/webhooks/telegram' })
  const [, own] = await look()
  assert.equal(own?.state, 'note')
})

test('doctor reports a webhook that is not registered', async (t) => {
  const webhook_url = 'http://127.0.0.1:9'
  const { look, server } = await diagnoseAccount(t, { webhook_url, webhook_secret: 's' })
  assert.equal((await look())[1]?.state, 'note')
  server.bot.delivery.setWebhook({ url: `${webhook_url}/webhooks/telegram`, secret_token: 's' })
  const [, registered] = await look()
  assert.deepEqual([registered?.state, registered?.text.includes(webhook_url)], ['ok', true])
})

test('doctor reports privacy mode when the account needs all messages of a group', async (t) => {
  const { look } = await diagnoseAccount(t, { require_mention: false })
  const found = (await look()).find(({ text }) => text.startsWith('Privacy mode is on'))
  assert.equal(found?.state, 'problem')
  assert.match(found?.advice ?? '', /\/setprivacy/)
  const open = await diagnoseAccount(t, { require_mention: false, server: { readsAll: true } })
  assert.deepEqual(
    (await open.look()).filter(({ state }) => state !== 'ok'),
    [],
  )
})
