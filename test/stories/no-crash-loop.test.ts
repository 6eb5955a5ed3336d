import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { rowsIn } from './support.ts'

test('a message that kills the process three times becomes a dead letter at the fourth start, and the next one is answered', async (t) => {
  const world = await startTestGateway(t, { startNow: false })
  // Whether its platform hears of it depends on when the process dies; it may deliver it again.
  void world.platform.say('poison')
  for (let life = 1; life <= 3; life += 1) assert.equal(await lifeOf(t, world).ended, 'SIGKILL', `life ${life}`)
  const survivor = lifeOf(t, world)
  const notice = await world.waitForReply('Sorry, I could not answer this message')
  assert.match(notice.text, /hermes inbox list/)
  const [event] = rowsIn(world.home, 'select state, tries, reason from inbox')
  assert.deepEqual([event?.['state'], event?.['tries']], ['dead', 3])
  assert.match(String(event?.['reason']), /the gateway ended/)
  survivor.stop()
  assert.equal(await survivor.ended, 0)

  await world.start()
  await world.say('hello')
  await world.waitForReply('You said: hello')
})

/** One life of a gateway that dies as soon as a model answers. */
function lifeOf(t: TestContext, { home }: TestGateway) {
  const program = fileURLToPath(new URL('../crash/child.mjs', import.meta.url))
  const settings = JSON.stringify({ home: home.root, killAt: 'agent:streaming', killHit: 1 })
  const child = spawn(process.execPath, [program, settings], {
    stdio: 'ignore',
    // A life that should have ended fails the test instead of holding it up.
    timeout: 10_000,
    killSignal: 'SIGABRT',
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: join(tmpdir(), `hermes-test-cache-${process.getuid?.() ?? 0}`),
    },
  })
  t.after(() => child.kill('SIGKILL'))
  return {
    ended: new Promise<number | string | null>((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? code))
    }),
    stop: () => void child.kill('SIGTERM'),
  }
}
