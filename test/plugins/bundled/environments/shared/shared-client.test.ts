import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareClient } from '../../../../../plugins/environments/shared/shared-client.ts'

const never = new AbortController().signal

function createClient() {
  const steps: string[] = []
  const stopped = Promise.withResolvers<void>()
  const client = {
    kind: 'fake',
    start: async () => void steps.push('start'),
    commandLine: () => ({ argv: [], env: {} }),
    async stop() {
      steps.push('stop')
      await stopped.promise
      steps.push('stopped')
    },
  }
  return { client, steps, finishStop: stopped.resolve }
}

test('a conversation that begins while the last one ends starts the place after its end', async () => {
  const { client, steps, finishStop } = createClient()
  const shared = shareClient(client)
  const [first, second] = [shared.join(), shared.join()]
  await first.start(never)
  const stopping = first.stop()
  const starting = second.start(never)
  await new Promise(setImmediate)
  assert.deepEqual(steps, ['start', 'stop'])
  finishStop()
  await Promise.all([stopping, starting])
  assert.deepEqual(steps, ['start', 'stop', 'stopped', 'start'])
})

test('a place goes on while one of its conversations does', async () => {
  const { client, steps } = createClient()
  const shared = shareClient(client)
  const [first, second] = [shared.join(), shared.join()]
  await first.start(never)
  await second.start(never)
  await first.stop()
  await first.stop()
  assert.deepEqual(steps, ['start', 'start'])
})
