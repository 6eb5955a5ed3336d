/**
 * The process is killed with SIGKILL between two steps of a message from Telegram; the next life must lose nothing and
 * double nothing without saying so.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { albumReply, createKilledGateway, exitOf } from '../../crash/killed-gateway.ts'
import { defaultUser, startTelegramServer } from '../../kit/servers/telegram-server.ts'

/** @param replyTo the reply of the model to a text */
async function setUp(t: TestContext, replyTo: (text: string) => string) {
  const server = await startTelegramServer()
  t.after(server.close)
  const { bot } = server
  const options = { token: bot.token, api_root: server.url, allow_from: [String(defaultUser.id)] }
  return { bot, gateway: await createKilledGateway(t, 'telegram', options, replyTo) }
}

const failpoints = [
  { at: 'inbox:committed', what: 'after a message was stored, before Telegram heard so' },
  { at: 'outbox:accepted', what: 'after an answer was sent, before that was stored' },
]

describe('killed between two steps, the gateway answers once, or says that it may be twice', { concurrency: 2 }, () => {
  for (const { at, what } of failpoints) {
    test(`killed ${what}`, { timeout: 60_000 }, async (t) => {
      const { gateway, bot } = await setUp(t, (text) => `You said: ${text}`)
      const said = bot.say('Hello')
      assert.equal(await exitOf(gateway.run(at)), 'SIGKILL')
      const survivor = gateway.run()
      await said.confirmed
      await bot.say('Still there?').confirmed
      await bot.chats.until(({ text }) => text.includes('Still there?'))
      const answers = bot.chats.shown.filter(({ text }) => text.includes('You said: Hello'))
      assert.ok(answers.length > 0, 'it was never answered')
      assert.ok(answers.filter(({ text }) => !text.includes('May be a duplicate')).length <= 1, JSON.stringify(answers))
      assert.equal(await gateway.stop(survivor), 0)
    })
  }
})

describe('killed while an album is sent, the gateway sends it once more as an album, with a label', {
  concurrency: 2,
}, () => {
  for (const { at, albums } of [
    { at: 'outbox:claimed', albums: 1 },
    { at: 'outbox:accepted', albums: 2 },
  ]) {
    test(`killed at ${at}`, { timeout: 60_000 }, async (t) => {
      const album = albumReply(t)
      const { gateway, bot } = await setUp(t, (text) => (text === 'Draw' ? album : `You said: ${text}`))
      const said = bot.say('Draw')
      assert.equal(await exitOf(gateway.run(at)), 'SIGKILL')
      const survivor = gateway.run()
      await said.confirmed
      await bot.say('Still there?').confirmed
      await bot.chats.until(({ text }) => text.includes('Still there?'))
      const sent = bot.chats.shown.filter(({ file }) => file !== undefined)
      const unlabelled = [
        ['one.png', false],
        ['two.png', false],
      ]
      assert.deepEqual(
        sent.map(({ file, text }) => [file?.name, text.includes('May be a duplicate')]),
        [...(albums === 2 ? unlabelled : []), ['one.png', true], ['two.png', false]],
      )
      assert.equal(new Set(sent.map(({ album: id }) => id)).size, albums)
      assert.equal(await gateway.stop(survivor), 0)
    })
  }
})
