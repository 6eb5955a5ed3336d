import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { stripHtml } from '../../../../platforms/telegram/outbound/markup.ts'
import {
  countMarkers,
  deleteRequest,
  editRequest,
  renderText,
  sendRequest,
  typingRequest,
} from '../../../../platforms/telegram/outbound/render.ts'
import type { OutboundMessage } from '../../../../src/message/outbound.ts'
import { parseHtml } from '../../../kit/servers/telegram/html.ts'
import { target } from '../support.ts'

const table = (rows: readonly string[]) => rows.join('\n')

describe('Markdown on Telegram', () => {
  const cases: (readonly [string, string, string])[] = [
    ['bold, italic and struck text', '**b** *i* ***bi*** ~~s~~', '<b>b</b> <i>i</i> <i><b>bi</b></i> <s>s</s>'],
    ['a name with underscores stays a name', 'snake_case_name', 'snake_case_name'],
    ['what looks like a tag is text', 'a <script> & </b> "x"', 'a &lt;script&gt; &amp; &lt;/b&gt; &quot;x&quot;'],
    ['tags that Telegram knows may be written', '<u>u</u> <strong>x *y*</strong>', '<u>u</u> <b>x <i>y</i></b>'],
    ['a tag that is never closed is text', '<u>u', '&lt;u&gt;u'],
    ['entities mean in prose what they mean in Markdown', '&lt;b&gt; &#8364; &unknown;', '&lt;b&gt; € &amp;unknown;'],
    ['inline code is shown as it is', '`a<b> &lt;`', '<code>a&lt;b&gt; &amp;lt;</code>'],
    ['code tells its language', '```ts\nx < 1\n```', '<pre><code class="language-ts">x &lt; 1</code></pre>'],
    ['code without a language', '```\nx\n  y\n```', '<pre>x\n  y</pre>'],
    ['code that is still being written', '```py\nx = 1', '<pre><code class="language-py">x = 1</code></pre>'],
    ['a strange language is none', '```<b>\nx\n```', '<pre>x</pre>'],
    ['headings are bold', '# One\n## Two\ntext', '<b>One</b>\n<b>Two</b>\ntext'],
    ['paragraphs keep their distance', 'one\ntwo\n\n\n\nthree *x*', 'one\ntwo\n\nthree <i>x</i>'],
    ['lists', '- one\n- two\n  - three\n', '• one\n• two\n   ◦ three'],
    ['numbered lists go on from their number', '3. a\n4. b', '3. a\n4. b'],
    ['tasks', '- [x] a\n- [ ] b', '☑ a\n☐ b'],
    ['code in a list keeps its own indentation', '1. a\n   ```\n   x\n     y\n   ```', '1. a\n<pre>x\n  y</pre>'],
    ['quotes', '> a\n> b\n\nc', '<blockquote>a\nb</blockquote>\n\nc'],
    ['a quote in a quote keeps its mark', '> a\n> > b', '<blockquote>a\n&gt; b</blockquote>'],
    ['links', '[a & b](https://e.org/?x=1&y="2")', '<a href="https://e.org/?x=1&amp;y=&quot;2&quot;">a &amp; b</a>'],
    ['a link to a person is no link, which would notify them', '[Ada](tg://user?id=42)', 'Ada (tg://user?id=42)'],
    ['nor is a picture of it', '![Ada](tg://user?id=42)', '🖼 Ada (tg://user?id=42)'],
    ['nor is its HTML', '<a href="tg://user?id=42">Ada</a>', '&lt;a href=&quot;tg://user?id=42&quot;&gt;Ada&lt;/a&gt;'],
    [
      'an address that changes the app of its reader is shown',
      '[Free](tg://proxy?server=x)',
      'Free (tg://proxy?server=x)',
    ],
    [
      'bare addresses are left to Telegram',
      'https://e.org/a_b_c and *www.e.org*',
      'https://e.org/a_b_c and <i>www.e.org</i>',
    ],
    ['a link that Telegram would not open shows its address', '[x](javascript:alert)', 'x (javascript:alert)'],
    ['mail addresses', '[write](mailto:a@b.org) <c@d.org>', 'write (a@b.org) c@d.org'],
    ['pictures are links', '![a cat](https://e.org/c.png)', '<a href="https://e.org/c.png">🖼 a cat</a>'],
    ['a rule', 'a\n\n---\n\nb', 'a\n\n———\n\nb'],
    [
      'a narrow table is drawn',
      table(['| Item | Price |', '|:--|--:|', '| Tea | 2 |', '| 日本茶 | 10 |']),
      '<pre>Item   | Price\n-------+------\nTea    |     2\n日本茶 |    10</pre>',
    ],
    [
      'a wide table becomes groups',
      table([
        '| City | What there is to see | How long |',
        '|--|--|--|',
        '| Rome | a *great* many ruins of all ages | a week |',
        '| Oslo | | a day |',
      ]),
      '<b>Rome</b>\n• What there is to see: a <i>great</i> many ruins of all ages\n• How long: a week\n\n<b>Oslo</b>\n• How long: a day',
    ],
  ]
  cases.push(
    ['bold text before Chinese letters', '**注意：**这是', '<b>注意：</b>这是'],
    ['a formula is unchanged', '\\(a_1 * b_2\\) $x*y*z$', '\\(a_1 * b_2\\) $x*y*z$'],
    ['named entities', '&copy; &mdash; &amp;lt;', '© — &amp;lt;'],
    [
      'a table with links becomes groups, where the links work',
      table(['| Site | Link |', '|--|--|', '| Docs | [guide](https://e.org) |']),
      '<b>Docs</b>\n• Link: <a href="https://e.org">guide</a>',
    ],
    [
      'a line break in a cell is a blank',
      table(['| a | b |', '|--|--|', '| x<br>y | z |']),
      '<pre>a   | b\n----+--\nx y | z</pre>',
    ],
  )
  for (const [name, markdown, html] of cases) {
    test(name, async () => {
      const body = await renderText(markdown)
      assert.equal(body.isHtml ? body.text : body.text.replaceAll('&', '&amp;'), html)
      if (body.isHtml) parseHtml(body.text)
    })
  }
})

test('text without markup is sent unchanged', async () => {
  assert.deepEqual(await renderText('Hello, world! 1 + 1 is 2.\nSee https://e.org.'), {
    text: 'Hello, world! 1 + 1 is 2.\nSee https://e.org.',
    isHtml: false,
  })
})

test('a text that becomes too long by formatting is sent unformatted', async () => {
  const row = `| a | ${'b '.repeat(30)} |`
  const columns = `| name | ${'a long heading '.repeat(4)} |\n|--|--|\n`
  const text = columns + `${row}\n`.repeat(40)
  assert.ok(text.length <= 4_096)
  assert.deepEqual(await renderText(text), { text: text.trim(), isHtml: false })
})

test('formatting that exceeds the number of entities is dropped, the least important first', async () => {
  const { text } = await renderText(`${'*a* '.repeat(60)}${'**b** '.repeat(60)}[c](https://e.org)`)
  assert.deepEqual(
    ['<i>', '<b>', '<a '].map((tag) => text.split(tag).length - 1),
    [0, 60, 1],
  )
})

test('the estimate of entities ignores names, code and lists', () => {
  assert.equal(
    countMarkers(`${'snake_case_name 2 * 3 * 4\n- item\n'.repeat(60)}\`\`\`\n${'**x** '.repeat(200)}\n\`\`\``),
    1,
  )
  assert.ok(countMarkers('**bold** `code` '.repeat(60)) >= 120)
})

test('a text that is empty after formatting is sent unformatted', async () => {
  assert.deepEqual(await renderText('[x]: https://e.org'), { text: '[x]: https://e.org', isHtml: false })
})

test('any Markdown renders to HTML that Telegram parses, within the counted length', async () => {
  const piece = fc.constantFrom(
    ...[
      '**',
      '*',
      '_',
      '`',
      '```',
      '\n',
      '\n\n',
      '> ',
      '- ',
      '1. ',
      '<u>',
      '</u>',
      '<b>',
      '</i>',
      '<',
      '>',
      '&',
      '&lt;',
    ],
    ...[
      '[',
      '](',
      ')',
      '![',
      'https://e.org/',
      'tg://user?id=1',
      '|',
      '|--|--|',
      '# ',
      '~~',
      '    ',
      '\t',
      'word',
      'ü',
      '👍🏽',
      '\\',
    ],
    ...['<pre>', '</pre>', '<blockquote>', '"', "'", ' ', '---', '[x] '],
  )
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
      const text = pieces.join('')
      const { text: sent, isHtml } = await renderText(text)
      if (!isHtml) return assert.equal(sent, text.trim())
      assert.equal(parseHtml(sent).text, stripHtml(sent).trim())
      assert.doesNotMatch(sent, /href="tg:/i)
    }),
    { seed: 20_261_121, numRuns: 500 },
  )
})

const message: OutboundMessage = { deliveryId: 'd', target, text: 'Hi', kind: 'reply' }
const plain = { text: 'Hi', isHtml: false }

test('a reply refers to its message, and is sent even when that message was deleted', () => {
  assert.deepEqual(sendRequest({ ...message, replyTo: '7' }, { text: '<b>Hi</b>', isHtml: true }), {
    method: 'sendMessage',
    payload: {
      chat_id: 42,
      text: '<b>Hi</b>',
      parse_mode: 'HTML',
      reply_parameters: { message_id: 7, allow_sending_without_reply: true },
    },
  })
})

test('topics are addressed by id, General without one, public channels by name', () => {
  const to = (chatId: string, threadId: string) =>
    sendRequest({ ...message, target: { ...target, chatId, threadId } }, plain).payload
  assert.deepEqual(to('-100123', '5'), { chat_id: -100_123, message_thread_id: 5, text: 'Hi' })
  assert.deepEqual(to('@news', '1'), { chat_id: '@news', text: 'Hi' })
})

test('short buttons form rows of two, long ones one row each; notices have no link previews', () => {
  const buttons = [
    { id: 'a:1', label: 'Allow' },
    { id: 'a:2', label: 'Deny' },
    { id: 'a:3', label: 'Always' },
  ]
  const key = (id: string, text: string) => ({ text, callback_data: id })
  assert.deepEqual(sendRequest({ ...message, kind: 'notice', buttons }, plain).payload, {
    chat_id: 42,
    text: 'Hi',
    link_preview_options: { is_disabled: true },
    reply_markup: { inline_keyboard: [[key('a:1', 'Allow'), key('a:2', 'Deny')], [key('a:3', 'Always')]] },
  })
  const long = [{ id: 'x', label: 'Allow this for the whole session' }, ...buttons.slice(0, 1)]
  assert.deepEqual(editRequest('9', { ...message, buttons: long }, plain)?.payload['reply_markup'], {
    inline_keyboard: [[key('x', 'Allow this for the whole session')], [key('a:1', 'Allow')]],
  })
})

test('an invalid message id causes no call', () => {
  assert.equal(editRequest('gone', message, plain), undefined)
  assert.equal(deleteRequest(target, '-1'), undefined)
  assert.deepEqual(typingRequest({ ...target, threadId: '5' }).payload, {
    chat_id: 42,
    message_thread_id: 5,
    action: 'typing',
  })
})
