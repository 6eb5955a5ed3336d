import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { createPlatformRecords, pruneRecords } from '../../src/flows/platform/platform-records.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation } from './support.ts'

function clientOf(gateway: TestGateway): OpenAI {
  const { url, token } = gateway.current()
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: token(), maxRetries: 0 })
}

test('responses are continued, branched and read again after a restart', async (t) => {
  const gateway = await startTestGateway(t)
  const first = await clientOf(gateway).responses.create({ model: 'm', input: 'I am Ada' })
  assert.equal(first.output_text, 'You said: I am Ada')
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  const client = clientOf(gateway)
  assert.equal((await client.responses.retrieve(first.id)).output_text, 'You said: I am Ada')
  await client.responses.create({ model: 'm', input: 'who am I?', previous_response_id: first.id })
  const branch = { model: 'm', input: 'and otherwise?', previous_response_id: first.id, stream: true } as const
  const deltas: string[] = []
  for await (const event of await client.responses.create(branch))
    if (event.type === 'response.output_text.delta') deltas.push(event.delta)
  assert.equal(deltas.join(''), 'You said: and otherwise?')
  const earlier = ['user: I am Ada', 'assistant: You said: I am Ada']
  assert.deepEqual(conversation(gateway.model.requests[1]), [...earlier, 'user: who am I?'])
  assert.deepEqual(conversation(gateway.model.requests[2]), [...earlier, 'user: and otherwise?'])
})

test('records of an adapter are its own, are inserted once and are pruned', async (t) => {
  const gateway = await startTestGateway(t)
  const store = createSqliteStore({ path: gateway.home.databaseFile })
  t.after(store.close)
  const recordsAt = (account: string, now: number) =>
    createPlatformRecords({ store, clock: () => now, owner: { platform: 'test', account } })
  const ours = recordsAt('ours', 1_000)
  assert.deepEqual(await ours.insert('a', { n: 1 }), { n: 1 })
  assert.deepEqual(await ours.insert('a', { n: 2 }), { n: 1 })
  await ours.put('b', 1)
  await recordsAt('ours', 5_000).put('b', 2)
  assert.equal(await recordsAt('theirs', 1_000).get('a'), undefined)
  assert.equal(await store.run(() => pruneRecords(4_000, 10)), 1)
  assert.deepEqual([await ours.get('a'), await ours.get('b')], [undefined, 2])
  await ours.remove('b')
  assert.equal(await ours.get('b'), undefined)
})
