import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toMarkdown } from '../../../../platforms/telegram/inbound/markdown.ts'

const link = (offset: number, length: number, url = 'https://a.example') => ({ type: 'text_link', offset, length, url })
const code = (offset: number, length: number) => ({ type: 'code', offset, length })
const markdownOf = (text: string, ...entities: readonly Readonly<Record<string, unknown>>[]) =>
  toMarkdown({ text, entities }).text

describe('formatting of Telegram as Markdown', () => {
  test('code with backticks gets a longer delimiter', () => {
    assert.equal(markdownOf('a`b', code(0, 3)), '``a`b``')
    assert.equal(markdownOf('`', code(0, 1)), '`` ` ``')
    assert.equal(markdownOf('x ``` y', { type: 'pre', offset: 0, length: 7 }), '````\nx ``` y\n````')
  })

  test('a block within a line gets lines of its own, and an unusual language no way out of its line', () => {
    const pre = { type: 'pre', offset: 2, length: 1, language: 'c++\n# heading' }
    assert.equal(markdownOf('a b c', pre), 'a \n```c++#heading\nb\n```\n c')
  })

  test('code within a link is nested, and neighbours stay apart', () => {
    assert.equal(markdownOf('ab', link(0, 2), code(1, 1)), '[a`b`](https://a.example)')
    assert.equal(
      markdownOf('ab', link(0, 1), link(1, 1, 'https://b.example')),
      '[a](https://a.example)[b](https://b.example)',
    )
  })

  test('brackets are escaped in the text of a link, but not in code', () => {
    assert.equal(markdownOf('[x] a[0]', link(0, 8), code(4, 4)), '[\\[x\\] `a[0]`](https://a.example)')
  })

  test('an address that is visible already is not repeated', () => {
    assert.equal(markdownOf('https://a.example', link(0, 17)), 'https://a.example')
  })

  test('entities that overlap, exceed the text or split a character change nothing', () => {
    for (const entity of [
      code(0, 99),
      code(-1, 2),
      code(0, 0),
      code(0.5, 1),
      code(1, 1),
      { type: 'code' },
      link(1, 2),
    ]) {
      assert.equal(markdownOf('😀!', entity), '😀!')
    }
    assert.equal(markdownOf('abc', code(0, 2), code(1, 2)), '`ab`c')
    assert.equal(markdownOf('abc', code(0, 3), link(0, 2)), '`abc`')
  })

  test('other entities move with their text', () => {
    const mention = { type: 'mention', offset: 2, length: 4 }
    const { text, entities } = toMarkdown({ text: 'a @bot b', entities: [code(0, 1), mention, code(7, 1)] })
    assert.equal(text, '`a` @bot `b`')
    const { offset, length } = Object(entities[1])
    assert.equal(text.slice(offset, offset + length), '@bot')
  })
})
