/**
 * Kills the gateway while it accepts an event of a service. The sender gets no answer and sends again: there is one turn, and
 * none is lost.
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
async function post(home: string): Promise<Response> {
  for (;;) {
    const response = await send(home)
    if (response.status !== 404 && response.status !== 503) return response
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function send(home: string): Promise<Response> {
  const address = readDaemonAddress(createHomeLayout(home))
  assert.ok(address)
  const signature = createHmac('sha256', secret).update(body).digest('hex')
  return await fetch(`${address.url}/webhooks/ci`, {
    method: 'POST',
    headers: { 'x-hub-signature-256': `sha256=${signature}`, 'x-github-delivery': 'delivery-1' },
    body,
  })
}
