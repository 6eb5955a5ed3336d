import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shorten } from '../../src/lib/shorten.ts'

test('a text is shortened between characters', () => {
  assert.equal(shorten('abcdef', 6), 'abcdef')
  assert.equal(shorten('abcdefg', 6), 'abcde…')
  assert.equal(shorten('😀😀😀', 2), '😀…')
})
