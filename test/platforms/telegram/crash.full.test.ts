/**
 * The process is killed with SIGKILL between two steps of a message from Telegram; the next life must lose nothing and
 * double nothing without saying so. Each process that was started again is the one that the next test kills.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKilledGateway } from '../../crash/killed-gateway.ts'
import { defaultUser, startTelegramServer } from '../../kit/servers/telegram-server.ts'

test('killed between two steps, the gateway answers once, or says that it may be twice', {
  timeout: 120_000,
}, async (t) => {
  const server = await startTelegramServer()
  t.after(server.close)
  const { bot } = server
  const options = { token: bot.token, api_root: server.url, allow_from: [String(defaultUser.id)] }
  const gateway = await createKilledGateway(t, 'telegram', options, (text) =>
    text.startsWith('Draw') ? gateway.albumReply : `You said: ${text}`,
  )
  gateway.start('outbox:accepted')

  /** Says a text on which the process is killed, and starts the next process. Resolves when that one has answered. */
  async function sayAndRestart(text: string, killAt?: string, killHit?: number): Promise<void> {
    const said = bot.say(text)
    await gateway.killed()
    gateway.start(killAt, killHit)
    await gateway.until(`"${text}" to be confirmed`, said.confirmed)
    const next = `Still there after ${text}?`
    await gateway.until(`"${next}" to be confirmed`, bot.say(next).confirmed)
    await gateway.until(
      `the answer to "${next}"`,
      bot.chats.until(({ text }) => text.includes(next)),
    )
  }
  function checkAnswers(text: string): void {
    const answers = bot.chats.shown.filter((shown) => shown.text.endsWith(`You said: ${text}`))
    assert.ok(answers.length > 0, 'it was never answered')
    assert.ok(answers.filter(({ text }) => !text.includes('May be a duplicate')).length <= 1, JSON.stringify(answers))
  }
  const files = () => bot.chats.shown.filter(({ file }) => file !== undefined)
  const nameAndLabel = ({ file, text }: ReturnType<typeof files>[number]) => [
    file?.name,
    text.includes('May be a duplicate'),
  ]
  const labelled = [
    ['one.png', true],
    ['two.png', false],
  ]

  await t.test('killed after an answer was sent, before that was stored', async () => {
    // The next process is killed at the album: before it, it sends the answer again, and that to the question after it.
    await sayAndRestart('Hello', 'outbox:accepted', 3)
    checkAnswers('Hello')
  })

  await t.test('killed after an album was sent, before that was stored', async () => {
    await sayAndRestart('Draw one')
    const unlabelled = [
      ['one.png', false],
      ['two.png', false],
    ]
    assert.deepEqual(files().map(nameAndLabel), [...unlabelled, ...labelled])
    assert.equal(new Set(files().map(({ album }) => album)).size, 2)
  })

  await t.test('killed before an album was sent', async () => {
    await gateway.arm('outbox:claimed')
    const before = files().length
    await sayAndRestart('Draw another')
    const sent = files().slice(before)
    assert.deepEqual(sent.map(nameAndLabel), labelled)
    assert.equal(new Set(sent.map(({ album }) => album)).size, 1)
  })

  await t.test('killed after a message was stored, before Telegram heard so', async () => {
    await gateway.arm('inbox:committed')
    await sayAndRestart('Good night')
    checkAnswers('Good night')
  })

  await gateway.stop()
})
