import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shorten, shortenLine } from '../../src/lib/shorten.ts'

test('a text is shortened between characters', () => {
  assert.equal(shorten('abcdef', 6), 'abcdef')
  assert.equal(shorten('abcdefg', 6), 'abcde…')
  assert.equal(shorten('😀😀😀', 2), '😀…')
})

test('a shortened line has no line breaks, control characters or marks of the writing direction', () => {
  assert.equal(shortenLine(' one\r\n two\u202ethree\u0007 ', 80), 'one two three')
  assert.equal(shortenLine('one\ntwo', 4), 'one…')
})
