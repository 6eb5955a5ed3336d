import assert from 'node:assert/strict'
import { test } from 'node:test'
import { visibleWidth } from '@earendil-works/pi-tui'
import { renderMarkdown } from '../../../src/clients/tui/markdown.ts'
import { fitLine, wrapHard, wrapSpans } from '../../../src/clients/tui/text-layout.ts'
import { createTheme } from '../../../src/clients/tui/theme.ts'
import { loadMarkdownParser } from '../../../src/lib/markdown.ts'
import { hostileTexts } from './hostile-texts.ts'

const parse = await loadMarkdownParser()
const plain = createTheme({ NO_COLOR: '1' })
const colourful = createTheme({})
const draw = (text: string, width = 60, theme = plain) => renderMarkdown(parse(text), width, theme)

// biome-ignore lint/suspicious/noControlCharactersInRegex: the characters that a text must not contain
const obeyed = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u

test('no text of the agent contains a character that a terminal obeys or that turns others around', () => {
  for (const text of hostileTexts) {
    for (const line of [...draw(text), ...wrapSpans([{ text }], 20), ...wrapHard(text, 20), fitLine([{ text }], 30)])
      assert.doesNotMatch(line, obeyed, JSON.stringify(text))
  }
})

test('no line is wider than the terminal, from 1 column on', () => {
  const text = [
    '# A heading with several words and `code`',
    'A paragraph with **bold**, *emphasis*, ~~gone~~ and [a link](https://example.com/a/very/long/address/without/a/space).',
    '世界世界世界世界世界世界 👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧 e\u0301e\u0301',
    '- one\n  - two\n    - three\n      1. four\n         > quoted\n- [x] done',
    '| name | value |\n|---|---|\n| a long name of a thing | 世界世界世界世界 |',
    '```ts\nconst x = "a line of a program that is longer than the terminal"\n```',
    `${'> '.repeat(20)}deep`,
    '---',
  ].join('\n\n')
  for (const theme of [plain, colourful])
    for (const width of [1, 2, 5, 10, 20, 39, 80, 160])
      for (const line of draw(text, width, theme)) assert.ok(visibleWidth(line) <= width, `${width}: ${line}`)
})

test('Markdown becomes lines that can be read without colour', () => {
  assert.deepEqual(
    draw(
      '# Files\n\nSee **two** of *them*:\n\n1. `a.ts`\n2. [docs](https://e.example)\n\n> quoted\n\n- [x] done\n- [ ] open',
      40,
    ),
    [
      '# Files',
      '',
      'See two of them:',
      '',
      '1. `a.ts`',
      '2. docs (https://e.example)',
      '',
      '│ quoted',
      '',
      '• [x] done',
      '• [ ] open',
    ],
  )
  assert.deepEqual(draw('```js\nlet x = 1\n\n  y()\n```', 40), ['  let x = 1', '  ', '    y()'])
})

test('a table stands in columns where it fits, and below each other where it does not', () => {
  const table = '| name | size |\n|---|---|\n| a.txt | 12 |\n| 世界 | 3 |'
  assert.deepEqual(draw(table, 40), ['name   size', '─────  ────', 'a.txt  12', '世界   3'])
  assert.deepEqual(draw(table, 9), ['name:', 'a.txt', 'size: 12', '─────────', 'name:', '世界', 'size: 3'])
})

test('an address that differs from the text of its link is shown', () => {
  assert.deepEqual(draw('[https://good.example](https://evil.example)'), [
    'https://good.example (https://evil.example)',
  ])
  assert.deepEqual(draw('<https://good.example>'), ['https://good.example'])
})

test('words are broken between them, also where their styles change', () => {
  const bold = (text: string) => `<${text}>`
  const spans = [{ text: 'one ' }, { text: 'two', style: bold }, { text: '! three' }]
  assert.deepEqual(wrapSpans(spans, 9), ['one <two>!', 'three'])
  assert.deepEqual(wrapSpans([{ text: 'abcdefghij' }], 4), ['abcd', 'efgh', 'ij'])
  assert.deepEqual(wrapSpans([{ text: '  indented\n\nlast' }], 20), ['  indented', '', 'last'])
})

test('a text that is too long for a line ends with an ellipsis', () => {
  assert.equal(fitLine([{ text: 'two\n  lines' }], 20), 'two lines')
  assert.equal(fitLine([{ text: '世界世界' }], 6), '世界…')
  assert.equal(fitLine([{ text: 'abc' }, { text: 'def' }], 5), 'abcd…')
})

test('texts that are made to take long end', () => {
  for (const text of [
    '_a*'.repeat(20_000),
    '['.repeat(20_000),
    `${'>'.repeat(5_000)}a`,
    '- '.repeat(3_000),
    `|${'a|'.repeat(300)}\n|${'-|'.repeat(300)}\n${'|x\n'.repeat(3_000)}`,
    'x'.repeat(200_000),
    '世'.repeat(100_000),
    'word '.repeat(40_000),
  ])
    assert.ok(draw(text, 60).length > 0)
})
