import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLineReader } from '../../src/hosts/line-reader.ts'

function createTestReader(maxBytes: number) {
  const lines: string[] = []
  const tooLong: string[] = []
  const reader = createLineReader(
    maxBytes,
    (line) => lines.push(line),
    (beginning) => tooLong.push(beginning),
  )
  return { lines, tooLong, reader }
}

test('lines are read unchanged, however the data is split into chunks', () => {
  const text = 'one\n\nzwölf 👋\nlast'
  const bytes = Buffer.from(text)
  for (let size = 1; size <= bytes.length; size++) {
    const { lines, tooLong, reader } = createTestReader(1_000)
    for (let at = 0; at < bytes.length; at += size) reader.add(bytes.subarray(at, at + size))
    assert.deepEqual(lines, ['one', '', 'zwölf 👋'])
    assert.equal(reader.takeRemainder(), 'last')
    assert.deepEqual(tooLong, [])
  }
})

test('a line that is too long is reported once, with its beginning, and the next line is read', () => {
  const { lines, tooLong, reader } = createTestReader(4)
  reader.add(Buffer.from('ok\nabc'))
  reader.add(Buffer.from('defghi'))
  reader.add(Buffer.from('jkl'))
  reader.add(Buffer.from('mno\nfine\nabcdefgh\nend\n'))
  assert.deepEqual(tooLong, ['abcd', 'abcd'])
  assert.deepEqual(lines, ['ok', 'fine', 'end'])
})
