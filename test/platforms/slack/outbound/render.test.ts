/**
 * Markdown as Slack shows it.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { splitText, truncate } from '../../../../platforms/slack/outbound/chunk.ts'
import { escapeGrowingMarkdown, escapeMarkdown } from '../../../../platforms/slack/outbound/escape.ts'
import { toMrkdwn } from '../../../../platforms/slack/outbound/markup.ts'
import { renderDraft, renderImage, renderPosts, toBlockPost } from '../../../../platforms/slack/outbound/render.ts'
import { parseMarkdown } from '../../../../src/lib/markdown.ts'
import { reply } from '../support.ts'

const render = async (markdown: string) => toMrkdwn(await parseMarkdown(markdown))
const plainly = { richBlocks: false }

describe('markdown becomes the markup of Slack', () => {
  const cases: readonly [what: string, markdown: string, mrkdwn: string][] = [
    ['bold, italic, struck', '**bold** *italic* ~~gone~~', '*bold* _italic_ ~gone~'],
    ['bold and italic at once', '***both***', '_*both*_'],
    ['a heading is bold, once', '# The **big** one\nText', '*The big one*\nText'],
    ['code keeps its signs', 'Use `a < b && c`', 'Use `a &lt; b &amp;&amp; c`'],
    ['a code block loses its language', '```ts\nconst a = 1 < 2\n```', '```\nconst a = 1 &lt; 2\n```'],
    ['links', '[the page](https://example.org/?a=1&b=2)', '<https://example.org/?a=1&amp;b=2|the page>'],
    ['a bare address', 'See https://example.org now', 'See <https://example.org> now'],
    ['a link that leads nowhere outside', '[run](javascript:alert(1))', 'run (javascript:alert(1))'],
    [
      'an address cannot smuggle a call',
      '[x](<https://a.b|<!channel>)',
      '[x](&lt;<https://a.b%7C|https://a.b¦>&lt;!channel&gt;)',
    ],
    ['a picture is a link', '![a cat](https://example.org/cat.png)', '<https://example.org/cat.png|a cat>'],
    ['lists', '- one\n- two\n  - three\n', '• one\n• two\n    • three'],
    ['numbered lists go on from their number', '3. c\n4. d', '3. c\n4. d'],
    ['tasks', '- [x] done\n- [ ] open', '• ☑ done\n• ☐ open'],
    ['quotes', '> wise words\n> and more', '> wise words\n> and more'],
    ['paragraphs', 'one\n\ntwo', 'one\n\ntwo'],
    ['lines', 'one\ntwo', 'one\ntwo'],
    ['a rule', 'a\n\n---\n\nb', 'a\n\n──────────\n\nb'],
    ['bold inside a word is separated by zero-width spaces', 'foo**bar**baz', 'foo\u200B*bar*\u200Bbaz'],
    ['bold does not reach over lines', '**one\ntwo**', '*one*\n*two*'],
    ['html is text', '<b>x</b> <br> y', '&lt;b&gt;x&lt;/b&gt; \n y'],
    ['entities are signs', 'a &lt; b &amp; c', 'a &lt; b &amp; c'],
    ['escaped signs', '\\*not bold\\*', '*not bold*'],
  ]
  for (const [what, markdown, mrkdwn] of cases) {
    test(what, async () => assert.equal(await render(markdown), mrkdwn))
  }

  test('bold text before Chinese letters', async () =>
    assert.equal(await render('**注意：**这是'), '*注意：*\u200B这是'))

  test('a formula is unchanged: as code if Slack would read markers in it', async () => {
    assert.equal(await render('\\(a_1 * b_2\\), \\(x\\)'), '`\\(a_1 * b_2\\)`, \\(x\\)')
    assert.equal(await render('\\[\nx_1\n= 2 \\\\\n\\]'), '```\n\\[\nx_1\n= 2 \\\\\n\\]\n```')
  })

  test('entities are decoded once, and not in the code of a table', async () => {
    assert.equal(await render('&copy; &amp;lt;'), '© &amp;lt;')
    assert.equal(await render('| a |\n|---|\n| `&lt;` |'), '```\na\n----\n&amp;lt;\n```')
  })

  test('a table with links becomes groups, where the links work', async () => {
    assert.equal(
      await render('| Site | Link |\n|--|--|\n| **Docs** | [guide](https://e.org) |'),
      '*Docs*\n• Link: <https://e.org|guide>',
    )
  })

  test('the mark of an inner quote is text', async () => {
    assert.equal(await render('> a\n> > b'), '> a\n> \n> &gt; b')
  })

  test('a table is rendered as a code block', async () => {
    const table = '| Name | Größe |\n|:--|--:|\n| 日本 | 1 |\n| `a|b` | **22** |'
    assert.equal(
      await render(table.replace('a|b', 'a\\|b')),
      '```\nName | Größe\n-----|------\n日本 |     1\na|b  |    22\n```',
    )
  })

  test('nested blocks are rendered correctly', async () => {
    const text = await render('````\n```\ninner\n```\n````')
    assert.equal(text.match(/```/g)?.length, 2)
  })
})

test('text of the model never mentions a user or a channel', async () => {
  const calls = [
    '<!channel>',
    '<!here>',
    '<!everyone>',
    '<@U0ADA00001>',
    '<#C0GENERAL>',
    '<!subteam^S1>',
    '<!date^1^{date}|x>',
  ]
  const word = fc.constantFrom(
    ...calls,
    '**',
    '`',
    '\n',
    '> ',
    '- ',
    '[a](',
    ')',
    '|',
    '<',
    '>',
    '&lt;',
    '&#60;',
    '&#X3C;',
    '!channel>',
    '@U0ADA00001>',
    'text ',
    '```\n',
  )
  const property = fc.asyncProperty(fc.array(word, { maxLength: 30 }), async (words) => {
    const text = words.join('')
    const rendered = await render(text)
    assert.doesNotMatch(rendered, /<[!@#]/, text)
    assert.doesNotMatch(await escapeMarkdown(text), /(?:<|&lt;|&#60;|&#x3c;)[!@#]/i, text)
  })
  await fc.assert(property, { seed: 20_261_121, numRuns: 300 })
})

test('the text of each frame is a prefix of the next one', async () => {
  const text = 'a <!channel> b <@U1> c << d &lt;!here> e & f &#60;@U1> g <!'
  let shown = ''
  for (let end = 0; end <= text.length; end += 1) {
    const frame = await escapeGrowingMarkdown(text.slice(0, end))
    assert.ok(frame.startsWith(shown), frame)
    shown = frame
  }
  assert.ok((await escapeMarkdown(text)).startsWith(shown))
})

describe('what does not fit', () => {
  test('chunks contain all lines, and code blocks are closed and reopened', () => {
    const lines = Array.from({ length: 50 }, (_, at) => `line ${at}`)
    const pieces = splitText(`\`\`\`\n${lines.join('\n')}\n\`\`\``, 120)
    assert.ok(pieces.length > 3)
    for (const piece of pieces) {
      assert.ok(piece.length <= 120)
      assert.equal(piece.split('```').length % 2, 1, piece)
    }
    const joined = pieces.join('\n')
    for (const line of lines) assert.ok(joined.includes(`${line}\n`), line)
  })

  test('a word longer than a chunk is split between characters', () => {
    const pieces = splitText('😀'.repeat(100), 31)
    for (const piece of pieces) assert.ok(piece.isWellFormed() && piece.length <= 31)
    assert.equal(pieces.join('').replaceAll('\n', ''), '😀'.repeat(100))
  })

  test('a text that becomes too long by escaping is sent as several messages', async () => {
    const text = 'if (a < b && c > d) {}\n'.repeat(1_600)
    const posts = await renderPosts(reply(text), plainly)
    assert.ok(posts.length > 1)
    for (const post of posts) assert.ok(post.text.length <= 40_000)
    const read = posts.map((post) => post.text).join('\n')
    assert.equal(read.match(/if \(a &lt; b &amp;&amp; c &gt; d\) \{\}/g)?.length, 1_600)
  })

  test('a long edit becomes blocks with a short text', async () => {
    const [post] = await renderPosts(reply('word '.repeat(1_500)), plainly)
    assert.ok(post)
    const short = toBlockPost(post)
    assert.ok(short !== undefined && Buffer.byteLength(short.text) <= 3_900)
    const blocks = short.blocks ?? []
    assert.ok(blocks.length > 1)
    assert.ok(blocks.every((block) => JSON.stringify(block).length < 3_200))
    assert.equal(toBlockPost({ text: 'x'.repeat(20_000) }), undefined)
  })
})

describe('buttons and pictures', () => {
  test('buttons follow the text, which is split into sections', async () => {
    const buttons = [
      { id: 'ask:1:allow', label: 'Allow', style: 'primary' as const },
      { id: 'ask:1:deny', label: 'x'.repeat(200) },
    ]
    const [post] = await renderPosts(reply('line\n'.repeat(1_000), undefined, { buttons }), plainly)
    const blocks = post?.blocks ?? []
    assert.deepEqual(
      blocks.map(({ type }) => type),
      ['section', 'section', 'actions'],
    )
    const [allow, deny] = JSON.parse(JSON.stringify(blocks.at(-1)?.['elements']))
    assert.deepEqual(allow, {
      type: 'button',
      action_id: 'ask:1:allow',
      value: 'ask:1:allow',
      text: { type: 'plain_text', text: 'Allow', emoji: true },
      style: 'primary',
    })
    assert.ok(deny.text.text.length <= 75)
  })

  test('many buttons form several rows', async () => {
    const buttons = Array.from({ length: 30 }, (_, at) => ({ id: `b:${at}`, label: String(at) }))
    const [post] = await renderPosts(reply('choose', undefined, { buttons }), plainly)
    assert.deepEqual(
      post?.blocks?.map(({ type }) => type),
      ['section', 'actions', 'actions'],
    )
  })

  test('an image over https is an image block, any other URL a link', () => {
    assert.equal(renderImage('https://example.org/a.png', 'a.png', 'Look').blocks?.length, 2)
    assert.deepEqual(renderImage('http://example.org/a.png', 'a.png', ''), {
      text: '<http://example.org/a.png|a.png>',
    })
  })

  test('with rich_blocks a reply is a Markdown block without mentions', async () => {
    const [post] = await renderPosts(reply('# Title\n\nHi <!channel> **x**'), { richBlocks: true })
    assert.deepEqual(post?.blocks, [{ type: 'markdown', text: '# Title\n\nHi <\u2060!channel> **x**' }])
    assert.equal(post.text, '*Title*\nHi &lt;!channel&gt; *x*')
    const [long] = await renderPosts(reply('x'.repeat(20_000)), { richBlocks: true })
    assert.equal(long?.blocks, undefined)
  })

  test('a growing reply has a cursor, also inside an open code block', async () => {
    assert.equal((await renderDraft(reply('The ans'))).text, 'The ans ▉')
    assert.equal((await renderDraft(reply('```js\nconst a'))).text, '```\nconst a ▉\n```')
  })

  test('a truncated text ends with an ellipsis', () => {
    assert.equal(truncate('short', 10), 'short')
    assert.equal(truncate('some longer words stand here', 22), 'some longer …')
  })
})
