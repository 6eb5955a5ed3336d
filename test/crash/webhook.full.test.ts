/**
 * Kills the gateway while it accepts an event of a service, and while it works on stored ones. A sender without an answer
 * sends again, one with an answer does not: there is one turn, and none is lost. The process that one test has restarted is
 * the one that the next test kills.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createHomeLayout } from '../../src/lib/home.ts'
import { readDaemonAddress } from '../../src/lib/pid-file.ts'
import { createKilledGateway } from './killed-gateway.ts'

const secret = 'a-secret-of-the-sender'

test('each event of a service leads to one turn', { timeout: 120_000 }, async (t) => {
  const asked: string[] = []
  const routes = {
    ci: { prompt: 'ci {title}' },
    // Two events are combined, however long the crash and the next start take.
    slow: { prompt: 'slow {title}', coalesce: { key: 'build', window_seconds: 3_600 } },
    quick: { prompt: 'quick {title}', coalesce: { key: 'build', window_seconds: 0.1 } },
  }
  const gateway = await createKilledGateway(t, 'webhook', { enabled: true, secret, routes }, (text) => {
    asked.push(text)
    return 'Noted.'
  })
  const { home } = gateway
  const askedAbout = (word: string) => asked.filter((text) => text.includes(word))
  await gateway.restart()

  for (const [point, status] of [
    ['inbox:before-commit', 202],
    ['inbox:committed', 200],
  ] as const) {
    await t.test(`when the gateway is killed at ${point} while it accepts the event`, async () => {
      const title = `accepted-${status}`
      await gateway.arm(point)
      await assert.rejects(post(home, 'ci', title))
      await gateway.killed()
      await gateway.restart()
      assert.equal((await gateway.until('the second answer', post(home, 'ci', title))).status, status)
      await gateway.untilTrue('the turn', () => askedAbout(title).length > 0)
      assert.equal(askedAbout(title).length, 1)
    })
  }

  for (const [point, route, titles] of [
    ['the answer to its sender', 'slow', ['first', 'second']],
    ['inbox:before-commit', 'quick', ['third']],
    ['inbox:committed', 'quick', ['fourth']],
  ] as const) {
    await t.test(`when the gateway is killed at ${point} after the event is stored`, async () => {
      if (route === 'quick') await gateway.arm(point)
      for (const title of titles) assert.equal((await post(home, route, title)).status, 202)
      await (route === 'quick' ? gateway.killed() : gateway.kill())
      endWindow(home)
      await gateway.restart()
      const last = titles[titles.length - 1] ?? ''
      await gateway.untilTrue('the turn', () => askedAbout(last).length > 0)
      // What comes twice is not worked on again.
      assert.equal((await post(home, route, last)).status, 200)
      assert.deepEqual(
        titles.map((title) => askedAbout(title).length),
        titles.map((title) => (title === last ? 1 : 0)),
      )
      assert.ok(askedAbout(last)[0]?.endsWith(last))
    })
  }

  await gateway.stop()
  // Nothing was worked on again later.
  assert.equal(asked.length, 5, JSON.stringify(asked))
})

/** The time of all waiting events has passed. */
function endWindow(home: string): void {
  const file = join(home, 'config.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('3600', '0.1'))
}

/** The platform connects some time after the gateway is ready. */
async function post(home: string, route: string, title: string): Promise<Response> {
  for (;;) {
    const response = await send(home, route, title)
    if (response.status !== 404 && response.status !== 503) return response
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function send(home: string, route: string, title: string): Promise<Response> {
  const address = readDaemonAddress(createHomeLayout(home))
  assert.ok(address)
  const text = JSON.stringify({ build: route, title })
  const signature = createHmac('sha256', secret).update(text).digest('hex')
  return await fetch(`${address.url}/webhooks/${route}`, {
    method: 'POST',
    headers: { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': title },
    body: text,
  })
}
