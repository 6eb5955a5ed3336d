import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stripPartialThinking, stripThinking } from '../../../src/agent/loop/strip-thinking.ts'

test('what a model thinks aloud is not shown, what it says is', () => {
  assert.equal(stripThinking('<think>\nhm, 4?\n</think>\n\nIt is 4.'), 'It is 4.')
  assert.equal(stripThinking('<thinking>a</thinking>One\n<reasoning>b</reasoning>\nTwo'), 'One\nTwo')
  assert.equal(stripThinking('<REASONING_SCRATCHPAD>x</REASONING_SCRATCHPAD>done'), 'done')
})

test('a thought that never ends hides what follows it', () => {
  assert.equal(stripThinking('Well.\n<think>and on and on'), 'Well.\n')
})

test('tags inside a sentence are talk about tags and stay', () => {
  for (const text of ['Use the <think> tag.', 'a < b', '`<think>` marks a thought', '<thinker>x</thinker>'])
    assert.equal(stripThinking(text), text)
})

test('while a text grows nobody sees half a tag, and never more than the end will show', () => {
  const text = 'Well.\n<think>secret thought</think>\nIt is <b>4</b>.'
  for (let end = 0; end <= text.length; end++) {
    const shown = stripPartialThinking(text.slice(0, end))
    assert.ok(!/[<]t|secret/.test(shown), `after ${end} characters: ${shown}`)
  }
  assert.equal(stripPartialThinking(text), 'Well.\nIt is <b>4</b>.')
})

test('text without tags is passed on as it is', () => {
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
