import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

test('readiness says that a platform receives once something has really come in', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['receive'] })
  await gateway.say('hello')
  const ready: unknown = await (await gateway.http('/readyz')).json()
  assert.deepEqual(at(ready, 'platforms', 'fake'), { state: 'connected', receiving: true })
  await gateway.say('/status')
  const status = await gateway.waitForReply('**Platforms**')
  assert.match(status.text, /fake \(connected, receiving\)/)
})

test('a platform that never says when something comes in has only its state, as scripts expect it', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('hello')
  const ready: unknown = await (await gateway.http('/readyz')).json()
  assert.deepEqual(at(ready, 'platforms', 'fake'), { state: 'connected' })
})
