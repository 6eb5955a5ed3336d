/**
 * The process is killed with SIGKILL while it sends an album to Slack. The next process cannot find it there, so it sends the
 * album once more, with a label. The process that was started again is the one that the next test kills.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKilledGateway } from '../../crash/killed-gateway.ts'
import { displayed, startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { ada, direct, populateWorkspace, tokensOf } from './support.ts'

test('killed while an album is sent, the gateway sends it once more as an album, with a label', {
  timeout: 60_000,
}, async (t) => {
  const server = await startSlackServer({ redeliverMs: 500 })
  populateWorkspace(server)
  t.after(() => server.close())
  const gateway = await createKilledGateway(t, 'slack', { ...tokensOf(server), allow_from: ['*'] }, (text) =>
    text.startsWith('Draw') ? gateway.albumReply : `You said: ${text}`,
  )
  gateway.start('outbox:accepted')

  /** Returns the texts of the albums that were sent. */
  async function drawAndRestart(text: string) {
    const before = server.posts(direct).length
    void server.say(direct, ada, text).catch(() => undefined)
    await gateway.killed()
    gateway.start()
    const next = `Still there after ${text}?`
    void server.say(direct, ada, next).catch(() => undefined)
    await gateway.until(
      `the answer to "${next}"`,
      server.until(() => server.posts(direct).find((post) => displayed(post).includes(next))),
    )
    const sent = server.posts(direct).slice(before)
    return sent
      .map((post) => [displayed(post), post.files?.map(({ name }) => name)])
      .filter(([, files]) => files !== undefined)
  }
  const names = ['one.png', 'two.png']
  const labelled = ['♻️ May be a duplicate:', names]

  await t.test('killed after it was sent, before that was stored', async () => {
    assert.deepEqual(await drawAndRestart('Draw'), [['', names], labelled])
  })

  await t.test('killed before it was sent', async () => {
    await gateway.arm('outbox:claimed')
    assert.deepEqual(await drawAndRestart('Draw again'), [labelled])
  })

  await gateway.stop()
})
