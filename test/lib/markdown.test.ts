import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isMathToken, type MarkedToken, parseMarkdown } from '../../src/lib/markdown.ts'

test('Markdown is parsed into blocks that a platform can render', async () => {
  const tokens = await parseMarkdown('# Title\n\nSome *words*.\n\n```js\nconst a = 1\n```\n\n- [x] done\n')
  assert.deepEqual(
    tokens.filter(({ type }) => type !== 'space').map(({ type }) => type),
    ['heading', 'paragraph', 'code', 'list'],
  )
  const code = tokens.find((token) => token.type === 'code')
  assert.deepEqual([code?.lang, code?.text], ['js', 'const a = 1'])
})

test('quotes nested thousands of levels deep are formatted down to a limit, and the rest is text', async () => {
  const text = `${'> '.repeat(20_000)}deep`
  let [token] = await parseMarkdown(text)
  let depth = 0
  for (; token?.type === 'blockquote'; depth += 1) [token] = token.tokens.filter(isParagraphOrQuote)
  assert.ok(depth > 3 && depth < 100)
  assert.equal(token?.type === 'paragraph' && token.text.endsWith('> deep'), true)
})

test('of a text with very many lines, lists, tables and markers, nothing is lost', async () => {
  for (const unit of ['- a\n', 'a\n=\n', '|a|b|\n|-|-|\n', '[a](b) ', '\\(\\[ ', '> - '])
    assert.equal(
      (await parseMarkdown(unit.repeat(20_000))).map(({ raw }) => raw).join('').length,
      unit.length * 20_000,
      unit,
    )
})

type Quoted = Extract<MarkedToken, { type: 'blockquote' | 'paragraph' }>

function isParagraphOrQuote(token: { readonly type: string }): token is Quoted {
  return token.type === 'blockquote' || token.type === 'paragraph'
}

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

/** The inline tokens of a text of one paragraph. */
async function inlineTokens(text: string): Promise<readonly { type: string; raw: string; text?: string }[]> {
  const [token, ...more] = await parseMarkdown(text)
  assert.equal(more.length, 0)
  assert.ok(token?.type === 'paragraph')
  return token.tokens.map((one) => ({ type: one.type, raw: one.raw, ...('text' in one ? { text: one.text } : {}) }))
}

describe('emphasis next to scripts without spaces', () => {
  const cases: readonly (readonly [text: string, type: string, emphasised: string])[] = [
    ['**注意：**这是', 'strong', '注意：'],
    ['他说**“好”**了', 'strong', '“好”'],
    ['他说**「好」**了', 'strong', '「好」'],
    ['中**(x)**中', 'strong', '(x)'],
    ['*強調。*後', 'em', '強調。'],
    ['~~注意：~~这', 'del', '注意：'],
    ['**중요(important)**는', 'strong', '중요(important)'],
    ['**สำคัญ:**นี่', 'strong', 'สำคัญ:'],
  ]
  for (const [text, type, emphasised] of cases) {
    test(text, async () => {
      assert.equal((await inlineTokens(text)).find((token) => token.type === type)?.text, emphasised)
    })
  }

  test('the rules for other scripts are those of CommonMark', async () => {
    for (const text of ['a**"b"**c', '**foo bar **x', 'x * y * z', 'a * 这 * b', '**foo."**x']) {
      assert.deepEqual(await inlineTokens(text), [{ type: 'text', raw: text, text }])
    }
  })
})

describe('formulas', () => {
  const formulasIn = async (text: string) => {
    const tokens = await parseMarkdown(text)
    const inline = (token: MarkedToken): readonly MarkedToken[] =>
      token.type === 'paragraph' ? token.tokens.filter((one): one is MarkedToken => one.type === 'escape') : [token]
    return tokens.flatMap(inline).flatMap((token) => (isMathToken(token) && 'text' in token ? [token.text] : []))
  }
  const cases: readonly (readonly [text: string, formulas: readonly string[]])[] = [
    ['\\(a_1 * b_2\\) and \\(c*d\\)', ['\\(a_1 * b_2\\)', '\\(c*d\\)']],
    ['so \\[ x_1 = \\frac{1}{2} \\] holds', ['\\[ x_1 = \\frac{1}{2} \\]']],
    ['$a_1*b$ and $\\alpha$', ['$a_1*b$', '$\\alpha$']],
    ['$$\\begin{a} 1 \\\\ 2 \\end{a}$$', ['$$\\begin{a} 1 \\\\ 2 \\end{a}$$']],
    ['Text:\n\\[\na\n= b\n- c\n\\]\nmore', ['\\[\na\n= b\n- c\n\\]']],
    ['It costs $5 and $6', []],
    ['US$5, 10$ and $5-$6, or $100k–$200k', []],
    ['\\[see the source\\] and \\(as above\\)', []],
    ['\\[x\\](y)', []],
    ['`$a$` and `\\(b\\)`', []],
  ]
  for (const [text, formulas] of cases)
    test(JSON.stringify(text), async () => assert.deepEqual(await formulasIn(text), formulas))

  test('emphasis goes across a formula, but does not use its markers', async () => {
    const tokens = await inlineTokens('$a_1*b$ *x $y*z$ q*')
    assert.deepEqual(
      tokens.map(({ type, raw }) => [type, raw]),
      [
        ['escape', '$a_1*b$'],
        ['text', ' '],
        ['em', '*x $y*z$ q*'],
      ],
    )
  })

  test('amounts of money do not disable the formatting between them', async () => {
    assert.ok((await inlineTokens('It costs $5 *and* $6.')).some(({ type }) => type === 'em'))
  })

  test('many unmatched delimiters take a linear time', async () => {
    for (const delimiter of ['\\(a ', '$a ', '$$a ', '\\[a ']) {
      const [token] = await parseMarkdown(delimiter.repeat(20_000))
      assert.equal(token?.type, 'paragraph')
    }
  })
})

test('character references are decoded once, but not in code', async () => {
  assert.deepEqual(
    (await inlineTokens('&copy;&nbsp;&lt;b&gt; &amp;lt; &#42;x&#x2a; &eacute;&rarr; &unknown; `&copy;`')).map(
      ({ text }) => text,
    ),
    ['©\u00a0<b> &lt; *x* é→ &unknown; ', '&copy;'],
  )
})

test('a link has its address without character references', async () => {
  const [paragraph] = await parseMarkdown('[a](https://example.org/?a=1&amp;b=2)')
  const link = paragraph?.type === 'paragraph' ? paragraph.tokens[0] : undefined
  assert.equal(link?.type === 'link' && link.href, 'https://example.org/?a=1&b=2')
})

test('the tag <br> is a line break, in a line and at its start', async () => {
  for (const text of ['a<br>b', 'a<BR/>b', '<br />\nb']) {
    assert.ok((await inlineTokens(text)).some(({ type }) => type === 'br'))
  }
})
