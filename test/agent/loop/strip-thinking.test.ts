import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stripPartialThinking, stripThinking } from '../../../src/agent/loop/strip-thinking.ts'

test('thinking is removed, other text is kept', () => {
  assert.equal(stripThinking('<think>\nhm, 4?\n</think>\n\nIt is 4.'), 'It is 4.')
  assert.equal(stripThinking('<thinking>a</thinking>One\n<reasoning>b</reasoning>\nTwo'), 'One\nTwo')
  assert.equal(stripThinking('<REASONING_SCRATCHPAD>x</REASONING_SCRATCHPAD>done'), 'done')
})

test('an unclosed thinking tag hides the rest of the text', () => {
  assert.equal(stripThinking('Well.\n<think>and on and on'), 'Well.\n')
})

test('tags within a sentence are kept', () => {
  for (const text of ['Use the <think> tag.', 'a < b', '`<think>` marks a thought', '<thinker>x</thinker>'])
    assert.equal(stripThinking(text), text)
})

test('a growing text shows neither an incomplete tag nor text that is removed later', () => {
  const text = 'Well.\n<think>secret thought</think>\nIt is <b>4</b>.'
  for (let end = 0; end <= text.length; end++) {
    const shown = stripPartialThinking(text.slice(0, end))
    assert.ok(!/[<]t|secret/.test(shown), `after ${end} characters: ${shown}`)
  }
  assert.equal(stripPartialThinking(text), 'Well.\nIt is <b>4</b>.')
})

test('text without tags is unchanged', () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes('<')),
      (text) => {
        assert.equal(stripThinking(text), text)
        assert.equal(stripPartialThinking(text), text)
      },
    ),
  )
})
