/**
 * The process is killed with SIGKILL while it sends an album to Slack. The next process cannot find it there, so it sends the
 * album once more, with a label.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { albumReply, createKilledGateway, exitOf } from '../../crash/killed-gateway.ts'
import { displayed, startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { ada, direct, populateWorkspace, tokensOf } from './support.ts'

describe('killed while an album is sent, the gateway sends it once more as an album, with a label', {
  concurrency: 2,
}, () => {
  for (const { at, albums } of [
    { at: 'outbox:claimed', albums: 1 },
    { at: 'outbox:accepted', albums: 2 },
  ]) {
    test(`killed at ${at}`, { timeout: 60_000 }, async (t) => {
      const album = albumReply(t)
      const server = await startSlackServer({ redeliverMs: 500 })
      populateWorkspace(server)
      t.after(() => server.close())
      const gateway = await createKilledGateway(t, 'slack', { ...tokensOf(server), allow_from: ['*'] }, (text) =>
        text === 'Draw' ? album : `You said: ${text}`,
      )
      const killed = exitOf(gateway.run(at))
      void server.say(direct, ada, 'Draw').catch(() => undefined)
      assert.equal(await killed, 'SIGKILL')
      const survivor = gateway.run()
      void server.say(direct, ada, 'Still there?').catch(() => undefined)
      await server.until(() => server.posts(direct).find((post) => displayed(post).includes('Still there?')))
      const sent = server.posts(direct).map((post) => [displayed(post), post.files?.map(({ name }) => name)])
      assert.deepEqual(
        sent.filter(([, files]) => files !== undefined),
        ['', '♻️ May be a duplicate:'].slice(-albums).map((text) => [text, ['one.png', 'two.png']]),
      )
      assert.equal(await gateway.stop(survivor), 0)
    })
  }
})
