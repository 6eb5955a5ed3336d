import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'

test('a file named by the model is sent after the reply', async (t) => {
  const path = join(tempHome(t), 'the chart.png')
  writeFileSync(path, 'a picture')
  const gateway = await startTestGateway(t, {
    capabilities: ['edit', 'typing', 'files'],
    replies: [{ text: `Here is the chart.\n\nMEDIA:"${path}"` }],
  })
  await gateway.say('draw')
  const { file } = await gateway.until((message) => message.file !== undefined)
  assert.deepEqual([file?.fileName, Buffer.from(file?.content ?? '').toString()], ['the chart.png', 'a picture'])
  await gateway.waitForLog({ event: 'outbox.delivered' })
  assert.deepEqual(gateway.replies(), ['Here is the chart.', ''])
})

test('a file with secrets is not sent, and the user is notified', async (t) => {
  const gateway = await startTestGateway(t, {
    capabilities: ['files'],
    model: () => ({ text: 'Take this.\nMEDIA:~/.ssh/id_ed25519' }),
    prepare(home) {
      mkdirSync(join(home.root, '.ssh'))
      writeFileSync(join(home.root, '.ssh/id_ed25519'), 'private')
    },
    gateway: { environment: {} },
  })
  await gateway.say('give me the key')
  await gateway.waitForReply(/not sent.*id_ed25519/)
  assert.ok(gateway.platform.shown().every(({ file }) => file === undefined))
})
