import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { shorten, stripTerminalEscapes } from '../../src/lib/visible-text.ts'

const cases: readonly (readonly [string, string, string])[] = [
  ['colours', '\u001b[1;31mred\u001b[0m', 'red'],
  ['true colours', '\u001b[38;2;1;2;3mx\u001b[m', 'x'],
  ['movements and erasing', 'a\u001b[2K\u001b[1Gb\u001b[?25h', 'ab'],
  ['a title that ends with BEL', '\u001b]0;title\u0007text', 'text'],
  ['a link', '\u001b]8;;https://example.com\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a device string', 'a\u001bP1$r0m\u001b\\b', 'ab'],
  ['a character set', '\u001b(Btext', 'text'],
  ['a reset', '\u001bctext', 'text'],
  ['a sequence of eight-bit controls', '\u009b31mred\u009b0m', 'red'],
  ['text without any', 'plain [31m text\n\twith lines', 'plain [31m text\n\twith lines'],
]

for (const [name, text, expected] of cases)
  test(`the output of a program is shown without ${name}`, () => assert.equal(stripTerminalEscapes(text), expected))

test('what Node removes is removed, too', () => {
  for (const [, text] of cases)
    assert.equal(stripVTControlCharacters(stripTerminalEscapes(text)), stripTerminalEscapes(text))
})

test('a sequence without an end loses its beginning only, however long the text is', () => {
  const text = 'a'.repeat(1_000_000)
  assert.equal(stripTerminalEscapes(`\u001b]0;${text}`), `0;${text}`)
  // Each of them is searched up to the next one.
  assert.equal(stripTerminalEscapes('\u001b]0;'.repeat(200_000)), '0;'.repeat(200_000))
  assert.equal(stripTerminalEscapes('\u009d0;'.repeat(200_000)).length, 600_000)
})

test('a text is shortened between characters', () => {
  assert.equal(shorten('abcdef', 6), 'abcdef')
  assert.equal(shorten('abcdefg', 6), 'abcde…')
  assert.equal(shorten('😀😀😀', 2), '😀…')
})
