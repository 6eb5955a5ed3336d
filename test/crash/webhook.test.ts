/**
 * Kills the gateway while it accepts an event of a service, and while it works on stored ones. A sender without an answer sends again, one
 * with an answer does not: there is one turn, and none is lost.
 */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { readDaemonAddress } from '../../src/app/pid-file.ts'
import { createHomeLayout } from '../../src/lib/home.ts'
import { createKilledGateway, exitOf } from './killed-gateway.ts'
import { waitForReady } from './scenario.ts'

const secret = 'a-secret-of-the-sender'
const body = JSON.stringify({ title: 'The build is broken' })

for (const [point, status] of [
  ['inbox:before-commit', 202],
  ['inbox:committed', 200],
] as const) {
  test(`an event leads to one turn when the gateway is killed at ${point}`, { timeout: 120_000 }, async (t) => {
    assert.deepEqual(await acceptTwice(t, point), { status, turns: 1 })
  })
}

for (const point of ['the answer to its sender', 'inbox:before-commit', 'inbox:committed']) {
  const isAtWork = point.startsWith('inbox')
  test(`stored events lead to one turn when the gateway is killed at ${point}`, { timeout: 120_000 }, async (t) => {
    const asked: string[] = []
    const answered = Promise.withResolvers<void>()
    // A crash at the answer leaves time for two events that are combined.
    const window_seconds = isAtWork ? 0.1 : 2
    const titles = isAtWork ? ['second'] : ['first', 'second']
    const routes = { ci: { prompt: '{title}', coalesce: { key: 'build', window_seconds } } }
    const gateway = await createKilledGateway(t, 'webhook', { enabled: true, secret, routes }, (text) => {
      asked.push(text)
      answered.resolve()
      return 'Noted.'
    })
    const first = gateway.run()
    await waitForReady(first)
    const killed = exitOf(first)
    if (isAtWork) await gateway.arm(first, point)
    for (const title of titles)
      assert.equal((await post(gateway.home, JSON.stringify({ build: 7, title }), title)).status, 202)
    if (!isAtWork) first.kill('SIGKILL')
    assert.equal(await killed, 'SIGKILL')
    const second = gateway.run()
    await waitForReady(second)
    await answered.promise
    // What came twice is not worked on again.
    assert.equal((await post(gateway.home, JSON.stringify({ build: 7, title: 'second' }), 'second')).status, 200)
    await gateway.stop(second)
    assert.equal(asked.length, 1, JSON.stringify(asked))
    assert.match(asked[0] ?? '', /second$/)
  })
}

async function acceptTwice(t: TestContext, point: string) {
  const answered = Promise.withResolvers<void>()
  let turns = 0
  const options = { enabled: true, secret, routes: { ci: { prompt: '{title}' } } }
  const gateway = await createKilledGateway(t, 'webhook', options, () => {
    turns += 1
    answered.resolve()
    return 'Noted.'
  })
  const first = gateway.run()
  await waitForReady(first)
  await gateway.arm(first, point)
  const killed = exitOf(first)
  await assert.rejects(post(gateway.home))
  assert.equal(await killed, 'SIGKILL')
  const second = gateway.run()
  await waitForReady(second)
  const { status } = await post(gateway.home)
  await answered.promise
  await gateway.stop(second)
  return { status, turns }
}

/** The platform connects some time after the gateway is ready. */
async function post(home: string, text = body, id = 'delivery-1'): Promise<Response> {
  for (;;) {
    const response = await send(home, text, id)
    if (response.status !== 404 && response.status !== 503) return response
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function send(home: string, text: string, id: string): Promise<Response> {
  const address = readDaemonAddress(createHomeLayout(home))
  assert.ok(address)
  const signature = createHmac('sha256', secret).update(text).digest('hex')
  return await fetch(`${address.url}/webhooks/ci`, {
    method: 'POST',
    headers: { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': id },
    body: text,
  })
}
