/**
 * The whole gateway with the real adapter, between a local Bot API and a local model.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { defaultUser, startTelegramServer, type TelegramServerOptions } from '../../kit/servers/telegram-server.ts'
import { startTestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../../plugins/loader-support.ts'
import { addQuickCommands } from '../../stories/support.ts'

async function gatewayOnTelegram(
  t: TestContext,
  telegram: Readonly<Record<string, unknown>> = {},
  { config = {}, server: setup = {}, ...options }: TestGatewayOptions & { server?: TelegramServerOptions } = {},
) {
  const server = await startTelegramServer(setup)
  const gateway = await startTestGateway(t, {
    ...options,
    config: {
      ...config,
      platforms: {
        fake: { enabled: false },
        telegram: { token: server.bot.token, api_root: server.url, allow_from: [String(defaultUser.id)], ...telegram },
      },
    },
  })
  // After the gateway, which says goodbye to it.
  t.after(server.close)
  return { server, bot: server.bot, gateway }
}

test('a message on Telegram is answered there', async (t) => {
  const { bot, gateway } = await gatewayOnTelegram(t, {}, { replies: [{ text: 'It is **noon**.' }] })
  await bot.say('What time is it?').confirmed
  const reply = await bot.chats.until(({ text }) => text === 'It is noon.')
  assert.deepEqual(reply.entities, [{ type: 'bold', offset: 6, length: 4 }])
  assert.equal(reply.replyTo, 1)
  assert.match(JSON.stringify((await gateway.modelRequest(0)).body), /What time is it\?/)
  const ready = await (await gateway.http('/readyz')).json()
  assert.equal(Object(ready).platforms.telegram.state, 'connected')
})

test('a user who is not allowed gets no answer without pairing', async (t) => {
  const { bot, server } = await gatewayOnTelegram(t, { unauthorized_dm_behavior: 'ignore' })
  await bot.say('Let me in', { from: { id: 666, first_name: 'Mallory' } }).confirmed
  await bot.say('Hello').confirmed
  await bot.chats.until(({ text }) => text.includes('Hello'))
  assert.equal(server.faults.calls('sendMessage'), 1)
})

test('/stop ends a turn while a plugin holds a later message of the same chat', async (t) => {
  const hold = `ctx.registerHook('pre_gateway_dispatch', ({ event }) =>
    event.text === 'held' ? new Promise(() => undefined) : undefined, { timeout: 60 })`
  const { bot, gateway } = await gatewayOnTelegram(
    t,
    {},
    {
      config: { plugins: { enabled: ['demo'] } },
      prepare: (home) => writeFiles(home.plugins, pluginFiles('demo', hold)),
      replies: [{ text: 'never', gate: () => Promise.withResolvers<void>().promise }],
    },
  )
  await bot.say('Tell me more').confirmed
  await gateway.modelRequest(0)
  void bot.say('held').confirmed.catch(() => undefined)
  void bot.say('/stop').confirmed.catch(() => undefined)
  await gateway.waitForEvent('agent:end')
})

test('in a private chat a reply grows as a draft, and one message takes its place', async (t) => {
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
  const { bot } = await gatewayOnTelegram(t, {}, { replies: [{ text: words, delayMs: 5 }] })
  await bot.say('Tell me more').confirmed
  await bot.called('sendMessageDraft')
  const draft = [...bot.chats.drafts.values()][0]
  assert.ok(draft !== undefined && words.startsWith(draft.text))
  const reply = await bot.chats.until(({ text }) => text === words)
  assert.deepEqual(reply.versions, [words])
  assert.equal(bot.chats.drafts.size, 0)
  assert.equal(new Set(bot.calls.flatMap(({ fields }) => fields['draft_id'] ?? [])).size, 1)
})

test('on a server without drafts a reply grows in one message and ends in it', async (t) => {
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
  const { bot } = await gatewayOnTelegram(
    t,
    {},
    { server: { hasDrafts: false }, replies: [{ text: words, delayMs: 5 }] },
  )
  await bot.say('Tell me more').confirmed
  const reply = await bot.chats.until(({ text }) => text === words)
  assert.ok(reply.versions.length > 1, 'it did not grow')
  assert.equal(bot.chats.shown.length, 1)
})

test('with the transport edit a long reply grows in one message and ends in it', async (t) => {
  const words = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ')
  const streaming = { transport: 'edit', edit_interval: 0.05, buffer_threshold: 10 }
  const { bot } = await gatewayOnTelegram(t, {}, { config: { streaming }, replies: [{ text: words, delayMs: 5 }] })
  await bot.say('Tell me more').confirmed
  const reply = await bot.chats.until(({ text }) => text === words)
  assert.ok(reply.versions.length > 1, 'it did not grow')
  assert.equal(bot.chats.shown.length, 1)
})

test('two bots of one gateway have separate conversations', async (t) => {
  const server = await startTelegramServer()
  const other = server.addBot({ id: 777, username: 'WorkBot' })
  await startTestGateway(t, {
    config: {
      platforms: {
        fake: { enabled: false },
        telegram: {
          token: server.bot.token,
          api_root: server.url,
          allow_from: [String(defaultUser.id)],
          accounts: { work: { token: other.token } },
        },
      },
    },
  })
  t.after(server.close)
  await Promise.all([server.bot.say('at home').confirmed, other.say('at work').confirmed])
  await server.bot.chats.until(({ text }) => text.includes('at home'))
  await other.chats.until(({ text }) => text.includes('at work'))
  assert.ok(server.bot.chats.shown.every(({ text }) => !text.includes('at work')))
})

test('messages written during an outage of Telegram are answered once', async (t) => {
  const { server, bot, gateway } = await gatewayOnTelegram(t)
  await bot.say('before').confirmed
  await bot.chats.until(({ text }) => text.includes('before'))
  server.faults.startOutage('cut')
  const said = bot.say('meanwhile')
  const degraded = JSON.parse(await gateway.waitForLog({ event: 'platform.degraded' }))
  const ready = await (await gateway.http('/readyz')).json()
  assert.equal(typeof degraded.reason, 'string')
  assert.equal(Object(ready).platforms.telegram.reason, degraded.reason)
  await server.faults.endOutage()
  await said.confirmed
  await bot.chats.until(({ text }) => text.includes('meanwhile'))
  await gateway.waitForLog({ event: 'platform.recovered' })
  assert.equal(bot.chats.shown.filter(({ text }) => text.includes('meanwhile')).length, 1)
})

test('a second program with the same token is reported, and messages arrive once it stops', async (t) => {
  const { server, bot, gateway } = await gatewayOnTelegram(t)
  const url = `${server.url}/bot${bot.token}/getUpdates?timeout=50`
  const over = new AbortController()
  const rival = async () => {
    while (!over.signal.aborted) await fetch(url, { signal: over.signal }).catch(() => undefined)
  }
  const rivalry = rival()
  await gateway.waitForLog({ event: 'platform.degraded' })
  over.abort()
  await rivalry
  await bot.say('Who are you?').confirmed
  await bot.chats.until(({ text }) => text.includes('Who are you?'))
})

test('rate limits delay replies, but lose none', async (t) => {
  const { server, bot } = await gatewayOnTelegram(t, { allow_from: ['*'] })
  const people = [1, 2, 3, 4].map((id) => ({ id, first_name: `Person ${id}` }))
  for (const { id } of people) bot.chats.add({ id, type: 'private' })
  const windows = people.map(({ id }) => server.faults.limit({ on: /^(send|edit)/, chat: String(id), ms: 1_000 }))
  for (const from of people) bot.say(`question ${from.id}`, { chat: from.id, from })
  for (const { id } of people) await bot.chats.until(({ chat, text }) => chat === id && text.includes(`question ${id}`))
  assert.ok(windows.every((window) => window.refused() > 0))
  assert.equal(server.faults.earlyCalls(), 0)
  assert.equal(bot.chats.shown.length, people.length)
})

test('a reply that may have arrived is sent again with a label', async (t) => {
  const { server, bot } = await gatewayOnTelegram(t)
  server.faults.dropResponse('sendMessage')
  await bot.say('Hello').confirmed
  await bot.chats.until(({ text }) => text.includes('May be a duplicate') && text.includes('Hello'))
  assert.equal(bot.chats.shown.length, 2)
})

test('a revoked token stops only this platform', async (t) => {
  const { server, bot, gateway } = await gatewayOnTelegram(t)
  const body = { ok: false, error_code: 401, description: 'Unauthorized' }
  server.faults.respond(/^send/, { status: 401, body }, Number.POSITIVE_INFINITY)
  await bot.say('Hello').confirmed
  await gateway.waitForLog('platform.failed')
  const ready = await (await gateway.http('/readyz')).json()
  assert.deepEqual([Object(ready).status, Object(ready).platforms.telegram.state], ['ready', 'failed'])
  assert.ok(!gateway.log.some((line) => line.includes('AAtest')), 'the token stands in the log')
})

test('a received image is stored before the model is called', async (t) => {
  const { bot, gateway } = await gatewayOnTelegram(t)
  const dot = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
    'base64',
  )
  const photo = [
    { file_id: bot.files.add(dot, '.png'), file_unique_id: 'u', width: 1, height: 1, file_size: dot.length },
  ]
  await bot.say('', { fields: { photo, caption: 'what is this?' } }).confirmed
  const { lastUserText } = await gateway.modelRequest(0)
  const [, path = ''] = /\[Attached photo: (.+) \(image/.exec(lastUserText) ?? []
  assert.ok(path.startsWith(join(gateway.home.root, 'media')), lastUserText)
  assert.deepEqual(readFileSync(path), dot)
})

test('the command menu of Telegram follows the quick commands of the operator', async (t) => {
  const { bot, gateway } = await gatewayOnTelegram(t)
  await gateway.waitForLog('telegram.commands_updated')
  addQuickCommands(gateway, { disk: { type: 'exec', command: 'df' } })
  await gateway.waitForLogLine(2, 'telegram.commands_updated')
  assert.match(JSON.stringify(bot.menu()), /"disk"/)
})
