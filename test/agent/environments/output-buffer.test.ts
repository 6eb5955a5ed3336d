import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createOutputBuffer } from '../../../src/agent/environments/output-buffer.ts'

test('an output within the limit is returned complete, however it was split into chunks', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 7 }), (text, size) => {
      const clean = text.replaceAll('\0', '').toWellFormed()
      const bytes = Buffer.from(clean)
      const buffer = createOutputBuffer(Math.max(bytes.length, 2))
      for (let at = 0; at < bytes.length; at += size) buffer.add(bytes.subarray(at, at + size))
      assert.equal(buffer.text(), clean)
    }),
  )
})

test('a cut never splits a character, and the number of missing bytes is correct', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 40 }),
      fc.constantFrom('é', '€', '😀', 'a'),
      fc.integer({ min: 1, max: 9 }),
      (budget, character, size) => {
        const bytes = Buffer.from(character.repeat(60))
        const buffer = createOutputBuffer(budget)
        for (let at = 0; at < bytes.length; at += size) buffer.add(bytes.subarray(at, at + size))
        const [, head = '', missing = '', tail = ''] = /^(.*)\n\[… (\d+) [^\]]*\]\n(.*)$/su.exec(buffer.text()) ?? []
        assert.doesNotMatch(head + tail, /\uFFFD/)
        assert.ok(Buffer.byteLength(head + tail) <= budget)
        assert.equal(Buffer.byteLength(head + tail) + Number(missing), bytes.length)
      },
    ),
  )
})

test('memory stays within the limit while the output grows', () => {
  const buffer = createOutputBuffer(1_000)
  for (let line = 0; line < 20_000; line++) buffer.add(Buffer.from(`line ${line}\n`))
  const text = buffer.text()
  assert.match(text, /^line 0\n/)
  assert.match(text, /line 19999\n$/)
  assert.ok(text.length < 1_100)
})
