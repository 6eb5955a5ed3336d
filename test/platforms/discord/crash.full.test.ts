/**
 * The process is killed with SIGKILL between two steps of a message from Discord; the next life answers it, once. Each process
 * that was started again is the one that the next test kills.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKilledGateway } from '../../crash/killed-gateway.ts'
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import { optionsFor, until } from './support.ts'

test('killed between two steps, the gateway answers once', { timeout: 120_000 }, async (t) => {
  const discord = await startDiscordServer()
  t.after(discord.close)
  const ada = discord.person('Ada')
  const dm = discord.dm(ada)
  const gateway = await createKilledGateway(
    t,
    'discord',
    { ...optionsFor(discord, discord.bot), allow_from: [ada.id] },
    (text) => (text.startsWith('Draw') ? gateway.albumReply : `You said: ${text}`),
  )
  const shown = (text: string) =>
    gateway.until(
      `"${text}"`,
      discord.until(({ content }) => content === text),
    )
  gateway.start('outbox:accepted', 2)
  await gateway.until(
    'the connection',
    until(() => discord.gateway.counts.identified === 1, discord),
  )
  discord.say(ada, dm, 'Are you there?')
  await shown('You said: Are you there?')

  /** Says a text on which the process is killed, and starts the next process. Returns what was sent since. */
  async function sayAndRestart(text: string, killAt?: string, killHit?: number) {
    const before = discord.sent(dm.id).length
    discord.say(ada, dm, text)
    await gateway.killed()
    gateway.start(killAt, killHit)
    if (!text.startsWith('Draw')) await shown(`You said: ${text}`)
    const next = `Still there after ${text}?`
    discord.say(ada, dm, next)
    await shown(`You said: ${next}`)
    return discord
      .sent(dm.id)
      .slice(before)
      .map(({ content, attachments }) => [content, attachments?.map(({ filename }) => filename)])
  }
  const answer = (text: string) => [`You said: ${text}`, []]
  const drawing = ['', ['one.png', 'two.png']]

  await t.test('killed after an answer was sent, before that was stored: Discord knows its name', async () => {
    const sent = await sayAndRestart('Hello')
    assert.deepEqual(sent, [answer('Hello'), answer('Still there after Hello?')])
  })

  await t.test('killed before a message was stored: it is fetched', async () => {
    await gateway.arm('inbox:before-commit')
    const sent = await sayAndRestart('Hello again')
    assert.deepEqual(sent, [answer('Hello again'), answer('Still there after Hello again?')])
  })

  await t.test('killed before an album was sent', async () => {
    await gateway.arm('outbox:claimed')
    // The next process is killed at the third of what it sends: an album, the answer to a question, another album.
    const sent = await sayAndRestart('Draw', 'outbox:accepted', 3)
    assert.deepEqual(sent, [drawing, answer('Still there after Draw?')])
  })

  await t.test('killed after an album was sent, before that was stored', async () => {
    const sent = await sayAndRestart('Draw again')
    assert.deepEqual(sent, [drawing, answer('Still there after Draw again?')])
  })

  await gateway.stop()
})
