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

test('several files named by the model are sent as one album after the reply', async (t) => {
  const folder = tempHome(t)
  const paths = ['one.png', 'two.png', 'notes.pdf'].map((name) => join(folder, name))
  for (const path of paths) writeFileSync(path, 'content')
  const gateway = await startTestGateway(t, {
    capabilities: ['edit', 'files', 'albums'],
    replies: [{ text: `Here they are.\n\n${paths.map((path) => `MEDIA:${path}`).join('\n')}` }, { text: 'Done.' }],
  })
  await gateway.say('draw')
  await gateway.until((message) => message.file?.fileName === 'notes.pdf')
  await gateway.say('and now?')
  await gateway.waitForReply('Done.')
  const shown = gateway.platform.shown()
  assert.deepEqual(
    shown.map(({ text, file }) => file?.fileName ?? text),
    ['Here they are.', 'one.png', 'two.png', 'notes.pdf', 'Done.'],
  )
  const [, one, two, notes] = shown.map(({ album }) => album)
  assert.ok(one !== undefined && one === two && notes === undefined)
})

test('one bad file of an album is replaced by a line, and the others are sent', async (t) => {
  const folder = tempHome(t)
  for (const name of ['one.png', 'three.png']) writeFileSync(join(folder, name), 'content')
  const names = ['one.png', 'two.png', 'three.png']
  const gateway = await startTestGateway(t, {
    capabilities: ['files', 'albums'],
    replies: [{ text: names.map((name) => `MEDIA:${join(folder, name)}`).join('\n') }],
  })
  await gateway.say('draw')
  await gateway.until((message) => message.file?.fileName === 'three.png')
  await gateway.waitForLog({ event: 'outbox.album_split' })
  assert.deepEqual(
    gateway.platform.shown().map(({ file }) => file?.fileName),
    ['one.png', undefined, 'three.png'],
  )
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
