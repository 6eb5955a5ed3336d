/**
 * Uploads over their HTTP routes: pieces, limits, and what is left on disk.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createFileServices } from '../../src/flows/platform/platform-files.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { createPng } from '../kit/pictures.ts'
import { tempHome } from '../kit/temp-home.ts'
import { toJsonValue } from '../kit/to-json-value.ts'
import { serveUploads } from '../kit/upload-routes.ts'

const id = 'upload-0123456789'

function setUp(t: TestContext, { maxBytes = 10_000 } = {}) {
  const folder = join(tempHome(t), 'media')
  const clock = createManualClock(Date.UTC(2026, 0, 2))
  const deps = { folder, pictures: join(folder, 'pictures'), clock: clock.now, maxBytes: () => maxBytes }
  const files = createFileServices(deps)
  const serve = serveUploads(files, maxBytes)
  const call = async (method: string, path = '', body?: string | Uint8Array<ArrayBuffer>) => {
    const init = { method, ...(body === undefined ? {} : { body }) }
    const request = new Request(`http://localhost/api/uploads${path}`, init)
    const response = await serve(request)
    const answer: unknown = await response.json()
    return Object(answer)
  }
  const begin = (bytes: number, name = 'file.bin', type = '') =>
    call('POST', '', JSON.stringify({ id, name, type, bytes }))
  const upload = async (content: Uint8Array<ArrayBuffer>, name?: string, type?: string) => {
    await begin(content.length, name, type)
    return await call('POST', `/${id}?from=0`, content)
  }
  const left = () => readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.'))
  return { folder, clock, files, call, begin, upload, left, again: () => createFileServices(deps) }
}

const withCode = (code: string) => (error: unknown) => isHermesError(error) && error.code === code

test('a picture that arrives in pieces becomes an attachment, typed by its content', async (t) => {
  const { begin, call, files } = setUp(t)
  const png = new Uint8Array(createPng({ width: 64, height: 32 }))
  assert.deepEqual(await begin(png.length, 'cat.jpg', 'image/jpeg'), { id, bytes: png.length, received: 0 })
  assert.equal((await call('POST', `/${id}?from=0`, png.subarray(0, 10))).received, 10)
  const { file } = await call('POST', `/${id}?from=10`, png.subarray(10))
  assert.deepEqual(file, { kind: 'photo', mimeType: 'image/png', width: 64, height: 32 })
  const { path = '', image, ...attachment } = await files.upload(id)
  assert.equal(image?.width, 64)
  assert.deepEqual(toJsonValue(attachment), {
    kind: 'photo',
    mimeType: 'image/png',
    bytes: png.length,
    fileName: 'cat.jpg',
  })
  assert.match(path, /\/media\/pictures\/[0-9a-f]{64}\.png$/)
  assert.deepEqual(new Uint8Array(readFileSync(path)), png)
})

test('a piece whose answer was lost is not added twice, and the client learns where to go on', async (t) => {
  const { begin, call } = setUp(t)
  await begin(6)
  await call('POST', `/${id}?from=0`, new TextEncoder().encode('abc'))
  assert.equal((await call('POST', `/${id}?from=0`, new TextEncoder().encode('abc'))).received, 3)
  assert.equal((await call('GET', `/${id}`)).received, 3)
  assert.equal((await begin(6)).received, 3)
})

test('an upload goes on after a restart', async (t) => {
  const { begin, call, again } = setUp(t)
  await begin(6, 'notes.txt')
  await call('POST', `/${id}?from=0`, new TextEncoder().encode('abc'))
  const { uploads } = again()
  const state = await uploads.append(id, 3, new TextEncoder().encode('def'))
  assert.equal(state.file?.mimeType, 'text/plain')
  const { path = '', kind } = await uploads.take(id)
  assert.equal(kind, 'document')
  assert.equal(readFileSync(path, 'utf8'), 'abcdef')
})

test('the same file is stored once, and its message keeps it when the upload is removed', async (t) => {
  const { upload, files, call, left } = setUp(t)
  await upload(new TextEncoder().encode('same words'), 'a.txt')
  const first = await files.upload(id)
  assert.equal((await files.upload(id)).path, first.path)
  await call('DELETE', `/${id}`)
  await upload(new TextEncoder().encode('same words'), 'b.txt')
  const second = await files.upload(id)
  await call('DELETE', `/${id}`)
  assert.equal(second.path, first.path)
  assert.equal(left().length, 1)
})

test('a picture that models cannot look at stays a file, and the answer says why', async (t) => {
  const { upload, files } = setUp(t)
  const { file } = await upload(new Uint8Array(createPng({ width: 30_000, height: 30_000 })), 'map.png')
  assert.equal(file.width, undefined)
  assert.match(file.problem, /30,000/)
  const { image, hidden = '' } = await files.upload(id)
  assert.equal(image, undefined)
  assert.match(hidden, /30,000/)
  await assert.rejects(
    files.picture(piecesOf(createPng({ width: 30_000, height: 30_000 }))),
    withCode('media/picture-too-large'),
  )
  await assert.rejects(files.picture(piecesOf(Buffer.from('no picture'))), withCode('media/picture-refused'))
})

test('limits are told before a byte is sent, and hold for what is sent', async (t) => {
  const { call, begin, left } = setUp(t, { maxBytes: 100 })
  assert.equal((await call('GET')).max_bytes, 100)
  await assert.rejects(begin(101), withCode('media/too-large'))
  await begin(5)
  await assert.rejects(call('POST', `/${id}?from=0`, Buffer.alloc(6)), withCode('http/bad-request'))
  assert.equal((await call('GET', `/${id}`)).received, 0)
  await call('DELETE', `/${id}`)
  assert.deepEqual(left(), [])
})

test('an unfinished or removed upload is no attachment', async (t) => {
  const { begin, call, files } = setUp(t)
  await begin(6)
  await assert.rejects(files.upload(id), withCode('media/upload-gone'))
  await call('DELETE', `/${id}`)
  await assert.rejects(files.upload(id), withCode('media/upload-gone'))
  await assert.rejects(call('POST', `/${id}?from=0`, Buffer.alloc(1)), withCode('media/upload-gone'))
})

for (const name of ['../../secret', '%2e%2e/x', 'short', 'a/b', `${'a'.repeat(65)}`]) {
  test(`an id cannot name another file: ${name.slice(0, 20)}`, async (t) => {
    const { call } = setUp(t)
    const refused = withCode(name === 'a/b' || name === '%2e%2e/x' ? 'http/not-found' : 'media/upload-gone')
    await assert.rejects(call('POST', `/x${name}?from=0`, Buffer.alloc(1)), refused)
    const body = JSON.stringify({ id: name, bytes: 1 })
    if (!/^[\w-]{16,64}$/.test(name)) await assert.rejects(call('POST', '', body), withCode('http/bad-request'))
  })
}

test('uploads that no message uses are removed after a day, and may not fill the disk', async (t) => {
  const { begin, clock, files, call, left } = setUp(t, { maxBytes: 10 })
  const ids = Array.from({ length: 20 }, (_, index) => `upload-number-${index}`.padEnd(20, '-'))
  for (const one of ids) await files.uploads.begin({ id: one, bytes: 10, fileName: '', mimeType: '' })
  await assert.rejects(begin(10), withCode('media/uploads-full'))
  clock.advance(25 * 60 * 60_000)
  await begin(10)
  assert.deepEqual(left().sort(), [`uploads/${id}.json`, `uploads/${id}.part`])
  await assert.rejects(call('GET', `/${ids[0]}`), withCode('media/upload-gone'))
})

test('files that were sent take no space of those that are still to be sent, and may be sent again', async (t) => {
  const { files, clock } = setUp(t, { maxBytes: 10 })
  const idOf = (index: number) => `upload-number-${index}`.padEnd(20, '-')
  for (let index = 0; index < 21; index++) {
    await files.uploads.begin({ id: idOf(index), bytes: 10, fileName: '', mimeType: '' })
    await files.uploads.append(idOf(index), 0, Buffer.from(`${index}`.padEnd(10)))
    await files.upload(idOf(index))
  }
  assert.equal((await files.upload(idOf(0))).bytes, 10)
  clock.advance(2 * 60 * 60_000)
  await files.uploads.sweep()
  await assert.rejects(files.uploads.state(idOf(0)), withCode('media/upload-gone'))
})

test('the limits of uploads hold for requests that come at the same time', async (t) => {
  const { files } = setUp(t, { maxBytes: 10 })
  const ids = Array.from({ length: 30 }, (_, index) => `upload-number-${index}`.padEnd(20, '-'))
  const results = await Promise.allSettled(
    ids.map((one) => files.uploads.begin({ id: one, bytes: 10, fileName: '', mimeType: '' })),
  )
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 20)
})

test('an upload that is begun again leaves the file of a message whole, and a damaged file is replaced', async (t) => {
  const { folder, files, upload, begin } = setUp(t)
  await upload(new TextEncoder().encode('kept words'), 'a.txt')
  const { path = '' } = await files.upload(id)
  rmSync(join(folder, 'uploads', `${id}.json`))
  await begin(10, 'a.txt')
  assert.equal(readFileSync(path, 'utf8'), 'kept words')
  writeFileSync(path, '')
  await files.uploads.append(id, 0, new TextEncoder().encode('kept words'))
  assert.equal((await files.upload(id)).path, path)
  assert.equal(readFileSync(path, 'utf8'), 'kept words')
})

test('only stored files are opened, never an upload or a file elsewhere', async (t) => {
  const { folder, upload, files } = setUp(t)
  await upload(new TextEncoder().encode('words'), 'a.txt')
  const { path = '' } = await files.upload(id)
  const opened = await files.open(path.slice(folder.length + 1))
  assert.deepEqual([opened?.mimeType, opened?.bytes], ['text/plain', 5])
  assert.equal(await text(opened?.content ?? Readable.from([])), 'words')
  writeFileSync(join(folder, '..', 'secret.txt'), 'secret')
  for (const name of [`uploads/${id}.part`, '../secret.txt', 'files/../../secret.txt', '/etc/passwd', 'files', ''])
    assert.equal(await files.open(name), undefined, name)
})

async function* piecesOf(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}
