/**
 * The process is killed with SIGKILL between two steps of a message from Discord; the next life answers it, once.
 */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { withTimeout } from '../../../src/lib/timers.ts'
import { albumReply, createKilledGateway, exitOf } from '../../crash/killed-gateway.ts'
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import { optionsFor, until } from './support.ts'

/** Kills the gateway at a failpoint of the reply to a text, and starts it again. */
async function killAndRestart(
  t: TestContext,
  at: string,
  hit: number,
  said: string,
  replyTo: (text: string) => string,
) {
  const discord = await startDiscordServer()
  t.after(discord.close)
  const ada = discord.person('Ada')
  const dm = discord.dm(ada)
  const gateway = await createKilledGateway(
    t,
    'discord',
    { ...optionsFor(discord, discord.bot), allow_from: [ada.id] },
    replyTo,
  )
  const shown = async (text: string) => {
    const found = await withTimeout(
      discord.until(({ content }) => content === text),
      30_000,
    )
    assert.ok(found.done, `waited in vain for ${text}`)
  }
  const killed = exitOf(gateway.run(at, hit))
  await until(() => discord.gateway.counts.identified === 1, discord)
  discord.say(ada, dm, 'Are you there?')
  await shown('You said: Are you there?')
  discord.say(ada, dm, said)
  assert.equal(await killed, 'SIGKILL')
  const survivor = gateway.run()
  return {
    shown,
    async finish() {
      discord.say(ada, dm, 'Still there?')
      await shown('You said: Still there?')
      assert.equal(await gateway.stop(survivor), 0)
      return discord.sent(dm.id)
    },
  }
}

const failpoints = [
  { at: 'inbox:before-commit', hit: 2, what: 'before a message was stored: it is fetched' },
  { at: 'outbox:accepted', hit: 2, what: 'after an answer was sent, before that was stored: Discord knows its name' },
]

describe('killed between two steps, the gateway answers once', { concurrency: 2 }, () => {
  for (const { at, hit, what } of failpoints) {
    test(`killed ${what}`, { timeout: 60_000 }, async (t) => {
      const { shown, finish } = await killAndRestart(t, at, hit, 'Hello', (text) => `You said: ${text}`)
      await shown('You said: Hello')
      assert.deepEqual(
        (await finish()).map(({ content }) => content),
        ['You said: Are you there?', 'You said: Hello', 'You said: Still there?'],
      )
    })
  }
})

describe('killed while an album is sent, the gateway sends it once', { concurrency: 2 }, () => {
  for (const at of ['outbox:claimed', 'outbox:accepted']) {
    test(`killed at ${at}`, { timeout: 60_000 }, async (t) => {
      const album = albumReply(t)
      const { finish } = await killAndRestart(t, at, 2, 'Draw', (text) =>
        text === 'Draw' ? album : `You said: ${text}`,
      )
      assert.deepEqual(
        (await finish()).map(({ content, attachments }) => [content, attachments?.map(({ filename }) => filename)]),
        [
          ['You said: Are you there?', []],
          ['', ['one.png', 'two.png']],
          ['You said: Still there?', []],
        ],
      )
    })
  }
})
