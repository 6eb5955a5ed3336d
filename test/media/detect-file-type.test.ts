/**
 * The type of a file is detected by its bytes, in bounded time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachmentKindOf, detectFileType, inspectedBytes } from '../../src/media/detect-file-type.ts'
import type { Attachment } from '../../src/message/event.ts'

const bytes = (text: string) => Buffer.from(text, 'latin1')
const zip = (name: string, more = '') => bytes(`PK\x03\x04${'\0'.repeat(26)}${name}${more}`)
const mp4 = (brand: string) => bytes(`\0\0\0\x20ftyp${brand}\0\0\0\0isommp42`)
const typeOf = async (head: Uint8Array, declared: Partial<Attachment> = {}) =>
  (await detectFileType(head, { kind: 'document', ...declared })).mimeType

test('the type of a file is detected by its first bytes, not by its name', async () => {
  const files: readonly (readonly [Uint8Array, string, string])[] = [
    [bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), 'image/png', 'png'],
    [bytes('\xff\xd8\xff\xe0\0\x10JFIF'), 'image/jpeg', 'jpg'],
    [bytes('GIF89a\x01\0\x01\0'), 'image/gif', 'gif'],
    [bytes('RIFF\x10\0\0\0WEBPVP8 '), 'image/webp', 'webp'],
    [mp4('heic'), 'image/heic', 'heic'],
    [mp4('avif'), 'image/avif', 'avif'],
    [bytes('BM\x46\0\0\0\0\0\0\0'), 'image/bmp', 'bmp'],
    [bytes('II*\0\x08\0\0\0'), 'image/tiff', 'tiff'],
    [bytes('\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a -->\n<svg xmlns="x">'), 'image/svg+xml', 'svg'],
    [mp4('isom'), 'video/mp4', 'mp4'],
    [mp4('qt  '), 'video/quicktime', 'mov'],
    [mp4('3gp5'), 'video/3gpp', '3gp'],
    [bytes('\x1a\x45\xdf\xa3\x93\x42\x82\x88webm'), 'video/webm', 'webm'],
    [bytes('\x1a\x45\xdf\xa3\x93\x42\x82\x88matroska'), 'video/x-matroska', 'mkv'],
    [bytes('RIFF\x10\0\0\0AVI LIST'), 'video/x-msvideo', 'avi'],
    [bytes('ID3\x04\0\0'), 'audio/mpeg', 'mp3'],
    [bytes('\xff\xfb\x90\x64\0\0'), 'audio/mpeg', 'mp3'],
    [mp4('M4A '), 'audio/mp4', 'm4a'],
    [bytes(`OggS\0\x02${'\0'.repeat(22)}OpusHead`), 'audio/ogg', 'ogg'],
    [bytes(`OggS\0\x02${'\0'.repeat(22)}\x80theora`), 'video/ogg', 'ogv'],
    [bytes('RIFF\x10\0\0\0WAVEfmt '), 'audio/wav', 'wav'],
    [bytes('fLaC\0\0\0\x22'), 'audio/flac', 'flac'],
    [bytes('\xff\xf1\x50\x80'), 'audio/aac', 'aac'],
    [bytes('#!AMR\n'), 'audio/amr', 'amr'],
    [bytes('%PDF-1.7\n'), 'application/pdf', 'pdf'],
    [zip('a.txt'), 'application/zip', 'zip'],
    [bytes('\x1f\x8b\x08\0'), 'application/gzip', 'gz'],
    [bytes('<!-- x --><!DOCTYPE html><p>'), 'text/html', 'html'],
    [bytes('just words\n'), 'text/plain', 'txt'],
  ]
  for (const [head, mimeType, extension] of files) {
    for (const declaredType of [undefined, 'image/x-icon', 'application/x-nonsense', 'no type']) {
      assert.deepEqual(
        await detectFileType(head, {
          kind: 'document',
          fileName: 'evil.exe',
          ...(declaredType === undefined ? {} : { mimeType: declaredType }),
        }),
        { mimeType, extension },
        `${mimeType} declared as ${declaredType}`,
      )
    }
  }
})

test('documents that are archives are detected by their entries or by their declared type', async () => {
  const office = 'application/vnd.openxmlformats-officedocument.'
  assert.equal(await typeOf(zip('[Content_Types].xml', '...word/document.xml')), `${office}wordprocessingml.document`)
  assert.equal(await typeOf(zip('[Content_Types].xml', '...xl/workbook.xml')), `${office}spreadsheetml.sheet`)
  assert.equal(
    await typeOf(zip('mimetype', 'application/vnd.oasis.opendocument.textPK')),
    'application/vnd.oasis.opendocument.text',
  )
  const deck = `${office}presentationml.presentation`
  assert.equal((await detectFileType(zip('_rels/.rels'), { kind: 'document', mimeType: deck })).extension, 'pptx')
  assert.equal(await typeOf(zip('word/macro'), { mimeType: 'text/plain' }), 'application/zip')
})

test('for containers without a visible content type the declared type decides', async () => {
  assert.equal(await typeOf(mp4('isom'), { mimeType: 'audio/mp4' }), 'audio/mp4')
  assert.equal(await typeOf(mp4('isom'), { kind: 'voice' }), 'audio/mp4')
  assert.equal(await typeOf(bytes('\x1a\x45\xdf\xa3\x93\x42\x82\x88webm'), { kind: 'voice' }), 'audio/webm')
})

test('texts keep their declared type and get a known extension', async () => {
  const text = bytes('a,b\n1,2\n')
  assert.equal(await typeOf(text, { mimeType: 'text/csv; charset=utf-8' }), 'text/csv')
  assert.equal(await typeOf(text, { fileName: 'Table.CSV' }), 'text/csv')
  assert.equal(await typeOf(text, { fileName: 'notes.md', mimeType: 'text/plain' }), 'text/markdown')
  assert.deepEqual(await detectFileType(text, { kind: 'document', mimeType: 'text/x-python', fileName: 'a.py' }), {
    mimeType: 'text/x-python',
    extension: 'txt',
  })
  assert.equal(await typeOf(text, { fileName: '../../etc/passwd' }), 'text/plain')
  assert.equal(
    await typeOf(Buffer.from('grüße 日本'.repeat(2_000)).subarray(0, 8_191)),
    'text/plain',
    'cut in a character',
  )
  assert.equal(await typeOf(bytes('gr\xfc\xdfe')), 'application/octet-stream', 'not UTF-8, and not declared as text')
  assert.equal(await typeOf(bytes('gr\xfc\xdfe'), { mimeType: 'text/plain' }), 'text/plain')
})

test('a declared type is trusted only if bytes cannot prove it', async () => {
  const noise = bytes('\0\x01\x02\x03')
  const unknown = { mimeType: 'application/octet-stream', extension: 'bin' }
  for (const mimeType of ['image/png', 'application/pdf', 'text/plain', 'IMAGE/JPEG', '<script>', '']) {
    assert.deepEqual(await detectFileType(noise, { kind: 'photo', mimeType }), unknown, mimeType)
  }
  assert.deepEqual(await detectFileType(noise, { kind: 'document' }), unknown)
  assert.deepEqual(await detectFileType(bytes(''), { kind: 'document' }), unknown)
  assert.equal(await typeOf(noise, { mimeType: 'audio/mpeg' }), 'audio/mpeg')
  assert.deepEqual(await detectFileType(noise, { kind: 'document', mimeType: 'application/x-sqlite3' }), {
    mimeType: 'application/x-sqlite3',
    extension: 'bin',
  })
})

test('files that are declared as images but are not get their actual kind', async () => {
  const kind = (kind: Attachment['kind'], mimeType: string, declaredType?: string) =>
    attachmentKindOf({ kind, ...(declaredType === undefined ? {} : { mimeType: declaredType }) }, mimeType)
  assert.equal(kind('photo', 'image/png'), 'photo')
  assert.equal(kind('photo', 'text/html'), 'document')
  assert.equal(kind('video', 'image/gif'), 'photo')
  assert.equal(kind('voice', 'audio/ogg'), 'voice')
  assert.equal(kind('voice', 'application/pdf'), 'document')
  assert.equal(kind('audio', 'video/mp4'), 'video')
  assert.equal(kind('sticker', 'application/gzip'), 'sticker')
  assert.equal(kind('document', 'image/png'), 'photo')
  assert.equal(kind('document', 'image/png', 'image/png'), 'document')
})

test('a hostile file cannot block the event loop', async () => {
  // A pattern that may end a comment here or there would have 2 ** 140 ways to try.
  const comments = '<!---->'.repeat(140)
  assert.equal(await typeOf(bytes(`${comments}x`)), 'text/plain')
  assert.equal(await typeOf(bytes(`${'<!doctype svg>'.repeat(70)}x`)), 'text/plain')
  assert.equal(await typeOf(bytes(`${comments}<html>`)), 'text/html')
  assert.equal(
    await typeOf(bytes('<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x">\n<!-- a --> <svg>')),
    'image/svg+xml',
  )
  assert.equal(await typeOf(bytes('<!-- never closed <html>')), 'text/plain')
})

test('no signature makes the detection slow', async () => {
  const signatures = [
    '\x89PNG\r\n\x1a\n',
    'ID3\x04',
    'PK\x03\x04',
    '\x1a\x45\xdf\xa3',
    'II*\0',
    '\x1f\x8b\x08',
    'OggS',
    '\xff\xfb',
  ]
  for (const signature of signatures) {
    for (const filler of [signature, '\0', '\xff', 'x']) {
      const head = bytes(`${signature}${filler.repeat(inspectedBytes)}`).subarray(0, inspectedBytes)
      const before = process.cpuUsage()
      await typeOf(head)
      const { user, system } = process.cpuUsage(before)
      assert.ok(user + system < 200_000, `${JSON.stringify(signature)}: ${(user + system) / 1_000} ms`)
    }
  }
})
