import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn, runCommand, waitForCommandReply } from './support.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1')
const photo = { kind: 'photo', fileName: 'cat.jpg', mimeType: 'image/jpeg', bytes: png } as const

function filesIn({ home }: TestGateway): string[] {
  const all = readdirSync(home.media, { recursive: true, encoding: 'utf8', withFileTypes: true })
  return all.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
}

test('the model receives the path and the type of an attachment', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.platform.attach(photo)
  await gateway.waitForReply('You said: [Attached photo')
  const [path = ''] = filesIn(gateway)
  assert.match(path, /\/media\/\d{4}-\d\d-\d\d\/1-1-[0-9a-f]{8}\.png$/)
  assert.deepEqual(conversation(gateway.model.requests[0]), [
    `user: [Attached photo: ${path} (cat.jpg, image/png, ${png.length} bytes, not shown: the picture is incomplete or damaged; send it again)]`,
  ])
  assert.deepEqual(readFileSync(path), png)
  assert.equal(gateway.platform.calls('GET /files'), 1)
})

test('a voice message is marked as one', async (t) => {
  const gateway = await startTestGateway(t)
  const bytes = Buffer.from(`OggS\0\x02${'\0'.repeat(22)}OpusHead`, 'latin1')
  await gateway.platform.attach({ kind: 'voice', fileName: '', mimeType: 'audio/ogg', bytes })
  await gateway.waitForReply(/\[The user sent a voice message: \/.*\.ogg\]/)
})

test('a message with a file that is too large is answered, and the model receives the reason', async (t) => {
  const gateway = await startTestGateway(t, { config: { media: { max_mb: 0.1 } } })
  await gateway.platform.attach({ ...photo, bytes: Buffer.alloc(200_000) })
  await gateway.waitForReply(/^You said: \[Attached photo: cat\.jpg \(.*0\.1 MB/)
  await gateway.waitForLog({ event: 'media.download_failed' })
})

test('/stop cancels a download, and the next message is answered', async (t) => {
  const gateway = await startTestGateway(t)
  const files = gateway.platform.holdFiles()
  await gateway.platform.attach(photo)
  await files.asked
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.say('never mind')
  await gateway.waitForReply('You said: never mind')
  assert.equal(gateway.model.requestCount, 1)
  assert.deepEqual(filesIn(gateway), [])
})

for (const command of ['/new', '/undo', '/branch']) {
  test(`a photo that is being fetched is answered after ${command}`, async (t) => {
    const gateway = await startTestGateway(t)
    await gateway.say('hello')
    await gateway.waitForReply('You said: hello')
    const files = gateway.platform.holdFiles()
    await gateway.platform.attach(photo)
    await files.asked
    await runCommand(gateway, command)
    files.release()
    await gateway.waitForReply('You said: [Attached photo')
  })
}

/** Two photos that become one turn, whose files are being fetched. The first message is answered. */
async function withTwoPhotos(t: TestContext) {
  const held = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, { replies: [{ text: 'done', gate: () => held.promise }] })
  await gateway.say('first')
  await gateway.modelRequest(0)
  const files = gateway.platform.holdFiles()
  await gateway.platform.attach({ ...photo, fileName: 'one.jpg' }, { id: 'm1' })
  await gateway.platform.attach({ ...photo, fileName: 'two.jpg' }, { id: 'm2' })
  held.resolve()
  await files.asked
  return { gateway, files }
}

test('/stop during the download of photos that belong together withdraws all of them', async (t) => {
  const { gateway } = await withTwoPhotos(t)
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.say('never mind')
  await gateway.waitForReply('You said: never mind')
  assert.equal(gateway.model.requestCount, 2)
  assert.deepEqual(filesIn(gateway), [])
})

test('the deletion of a photo during its download leaves the photo that belongs to it', async (t) => {
  const { gateway, files } = await withTwoPhotos(t)
  await gateway.platform.remove('m1')
  files.release()
  const { text } = await gateway.waitForReply('two.jpg')
  assert.ok(!text.includes('one.jpg'))
})

test('the download of a deleted message does not delay other messages', async (t) => {
  const gateway = await startTestGateway(t)
  const files = gateway.platform.holdFiles()
  await gateway.platform.attach(photo, { id: 'm1' })
  await files.asked
  await gateway.platform.remove('m1')
  await gateway.say('next')
  await gateway.waitForReply('You said: next')
  assert.equal(gateway.model.requestCount, 1)
})

test('a message that is edited during the download is read in its edited form', async (t) => {
  const gateway = await startTestGateway(t)
  const files = gateway.platform.holdFiles()
  await gateway.platform.attach(photo, { id: 'm1' })
  await files.asked
  await gateway.platform.edit('m1', 'what is this?')
  files.release()
  // An edit on the fake platform has no attachment, so the edited message has none.
  await gateway.waitForReply('You said: what is this?')
})

test('a download interrupted by a stop is repeated at the next start, and the message is answered once', async (t) => {
  const gateway = await startTestGateway(t)
  const files = gateway.platform.holdFiles()
  await gateway.platform.attach(photo)
  await files.asked
  await gateway.stop()
  assert.deepEqual(
    rowsIn(gateway.home, 'select state, tries from inbox').map((row) => ({ ...row })),
    [{ state: 'queued', tries: 0 }],
  )
  files.release()
  await gateway.start()
  await gateway.waitForReply('You said: [Attached photo: /')
  assert.equal(gateway.replies().filter((text) => text.startsWith('You said')).length, 1)
})
