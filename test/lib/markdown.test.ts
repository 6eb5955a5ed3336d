import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMarkdown } from '../../src/lib/markdown.ts'

test('Markdown is parsed into blocks that a platform can render', async () => {
  const tokens = await parseMarkdown('# Title\n\nSome *words*.\n\n```js\nconst a = 1\n```\n\n- [x] done\n')
  assert.deepEqual(
    tokens.filter(({ type }) => type !== 'space').map(({ type }) => type),
    ['heading', 'paragraph', 'code', 'list'],
  )
  const code = tokens.find((token) => token.type === 'code')
  assert.deepEqual([code?.lang, code?.text], ['js', 'const a = 1'])
})

test('a text that the parser cannot process becomes a plain paragraph', async () => {
  const text = `${'> '.repeat(20_000)}deep`
  const [token, ...more] = await parseMarkdown(text)
  assert.equal(more.length, 0)
  assert.equal(token?.type === 'paragraph' && token.text, text)
})

test('an empty text has no blocks', async () => {
  assert.deepEqual(await parseMarkdown(''), [])
})

test('a short text cannot define a table of many cells: the table stays text, and the blocks around it are parsed', async () => {
  const table = `${'|a'.repeat(400)}|\n${'|-'.repeat(400)}|\n${'x\n'.repeat(400)}`
  const tokens = await parseMarkdown(`# Title\n\n${table}\n**bold**\n`)
  assert.equal(tokens[0]?.type, 'heading')
  assert.ok(tokens.every(({ type }) => type !== 'table'))
  assert.ok(tokens.some((token) => token.type === 'paragraph' && token.tokens[0]?.type === 'strong'))
  assert.equal(tokens.map(({ raw }) => raw).join(''), `# Title\n\n${table}\n**bold**\n`)
})

test('unmatched emphasis markers take a bounded time', async () => {
  const text = '*a **a'.repeat(2_000)
  const [paragraph, ...more] = await parseMarkdown(text)
  assert.equal(more.length, 0)
  assert.ok(paragraph?.type === 'paragraph')
  assert.deepEqual(
    paragraph.tokens.map(({ type, raw }) => [type, raw]),
    [['text', text]],
  )
})

test('long texts and tables of a usual shape are parsed completely', async () => {
  const words = 'Some **bold** and _slanted_ words in `code_with_marks`, and more. '.repeat(100)
  const table = `| a | b | c |\n|---|---|---|\n${'| 1 | *2* | 3 |\n'.repeat(500)}`
  const [paragraph, , drawn] = await parseMarkdown(`${words}\n\n${table}`)
  assert.equal(paragraph?.type === 'paragraph' && paragraph.tokens.filter(({ type }) => type === 'strong').length, 100)
  assert.equal(drawn?.type === 'table' && drawn.rows.length, 500)
})
