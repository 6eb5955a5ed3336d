import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMarkdown } from '../../src/lib/markdown.ts'

test('Markdown becomes blocks that a platform can render', async () => {
  const tokens = await parseMarkdown('# Title\n\nSome *words*.\n\n```js\nconst a = 1\n```\n\n- [x] done\n')
  assert.deepEqual(
    tokens.filter(({ type }) => type !== 'space').map(({ type }) => type),
    ['heading', 'paragraph', 'code', 'list'],
  )
  const code = tokens.find((token) => token.type === 'code')
  assert.deepEqual([code?.lang, code?.text], ['js', 'const a = 1'])
})

test('a text that no parser survives is at least readable', async () => {
  const text = `${'> '.repeat(20_000)}deep`
  const [token, ...more] = await parseMarkdown(text)
  assert.equal(more.length, 0)
  assert.equal(token?.type === 'paragraph' && token.text, text)
})

test('an empty text has no blocks', async () => {
  assert.deepEqual(await parseMarkdown(''), [])
})
