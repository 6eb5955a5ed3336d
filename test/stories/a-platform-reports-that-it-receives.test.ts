import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, waitForCommandReply } from './support.ts'

test('readiness reports `receiving` after a platform has received something', async (t) => {
  const gateway = await startTestGateway(t, { capabilities: ['receive'] })
  await gateway.say('hello')
  const ready: unknown = await (await gateway.http('/readyz')).json()
  assert.deepEqual(at(ready, 'platforms', 'fake'), { state: 'connected', receiving: true })
  await gateway.say('/status')
  const status = await waitForCommandReply(gateway)
  assert.match(status.text, /fake.*receiving/)
})

test('readiness reports only the state of a platform that never calls `received`', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('hello')
  const ready: unknown = await (await gateway.http('/readyz')).json()
  assert.deepEqual(at(ready, 'platforms', 'fake'), { state: 'connected' })
})
