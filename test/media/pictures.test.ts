import assert from 'node:assert/strict'
import { chmodSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { maxPictureBytes, picturePath, storePicture, storePictureFile } from '../../src/media/pictures.ts'
import { animatedGif, animatedWebp, createPng, gif, jpeg, webps } from '../kit/pictures.ts'
import { tempHome } from '../kit/temp-home.ts'

function refusedAs(code: string) {
  return (error: unknown) => error instanceof Error && 'code' in error && error.code === code
}

async function* inChunks(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

test('pictures of the four types that models accept are stored with their size', async (t) => {
  const folder = tempHome(t)
  const expected = [
    { content: createPng({ width: 640, height: 480 }), mimeType: 'image/png', width: 640, height: 480 },
    { content: jpeg, mimeType: 'image/jpeg', width: 1, height: 1 },
    { content: gif, mimeType: 'image/gif', width: 1, height: 1 },
    ...webps.map((content) => ({ content, mimeType: 'image/webp', width: 1, height: 1 })),
  ]
  for (const { content, ...format } of expected) {
    const part = await storePicture(folder, content)
    const { file, ...rest } = part
    assert.deepEqual(rest, { type: 'image', bytes: content.length, ...format })
    assert.match(file, /^[0-9a-f]{64}\.(png|jpg|gif|webp)$/)
    assert.deepEqual(readFileSync(picturePath(folder, part)), content)
  }
  assert.equal(readdirSync(folder).length, expected.length)
})

test('the same picture is one file, which only its owner reads, also when it arrives as a stream or as a file', async (t) => {
  const folder = tempHome(t)
  const content = createPng({ fill: 100_000 })
  const source = join(tempHome(t), 'sent.jpeg')
  writeFileSync(source, content)
  const parts = await Promise.all([
    storePicture(folder, content),
    storePicture(folder, inChunks(content, 7_000)),
    storePictureFile(folder, source),
  ])
  assert.deepEqual(new Set(parts.map(({ file }) => file)).size, 1)
  assert.deepEqual(readdirSync(folder), [parts[0].file])
  assert.equal(statSync(picturePath(folder, parts[0])).mode & 0o777, 0o600)
})

test('a stored picture that was damaged on disk is written again', async (t) => {
  const folder = tempHome(t)
  const content = createPng()
  const part = await storePicture(folder, content)
  truncateSync(picturePath(folder, part), 10)
  await storePicture(folder, content)
  assert.deepEqual(readFileSync(picturePath(folder, part)), content)
})

test('a picture that models do not accept is refused with its reason, and nothing is stored', async (t) => {
  const folder = tempHome(t)
  const svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>'
  const heic = Buffer.concat([Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'), Buffer.alloc(100)])
  const cases: readonly (readonly [Buffer, string])[] = [
    [createPng({ fill: maxPictureBytes }), 'too-large'],
    [createPng({ width: 30_000, height: 30_000 }), 'too-many-pixels'],
    [createPng({ width: 8_001, height: 1 }), 'too-many-pixels'],
    [createPng({ width: 0 }), 'damaged'],
    [animatedGif, 'animated'],
    [animatedWebp, 'animated'],
    [Buffer.from(svg), 'type'],
    [heic, 'type'],
    [Buffer.from('BM and so on'), 'type'],
    [Buffer.from('%PDF-1.7\n'), 'not-a-picture'],
    [Buffer.from('hello'), 'not-a-picture'],
    [Buffer.alloc(0), 'not-a-picture'],
  ]
  for (const [content, code] of cases) {
    await assert.rejects(storePicture(folder, content), refusedAs(code), code)
    await assert.rejects(storePicture(folder, inChunks(content, 65_536)), refusedAs(code), code)
  }
  assert.deepEqual(readdirSync(folder), [])
})

test('a picture that ends too early is refused wherever it was cut', async (t) => {
  const folder = tempHome(t)
  for (const content of [createPng({ fill: 200 }), jpeg, gif, ...webps])
    for (let length = 12; length < content.length - 1; length++)
      await assert.rejects(storePicture(folder, content.subarray(0, length)), (error) =>
        error instanceof Error && 'code' in error
          ? error.code === 'damaged' || error.code === 'type' || error.code === 'not-a-picture'
          : false,
      )
  assert.deepEqual(readdirSync(folder), [])
})

test('a stream that is too long is left at the limit', async (t) => {
  let given = 0
  async function* endless() {
    for (;;) {
      given += 1_000_000
      yield createPng({ fill: 1_000_000 }).subarray(0, 1_000_000)
    }
  }
  await assert.rejects(storePicture(tempHome(t), endless()), refusedAs('too-large'))
  assert.ok(given <= maxPictureBytes + 1_000_000)
})

test('the error of a folder that cannot be written is that of the system', async (t) => {
  const folder = join(tempHome(t), 'file')
  writeFileSync(folder, '')
  await assert.rejects(storePicture(folder, createPng()), refusedAs('ENOTDIR'))
  chmodSync(folder, 0o600)
})
