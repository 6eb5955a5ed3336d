import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderedLength, toDiscordMarkdown } from '../../../../platforms/discord/outbound/markup.ts'
import { nonceOf, renderEdit, renderMessage } from '../../../../platforms/discord/outbound/render.ts'
import type { OutboundMessage } from '../../../../src/message/outbound.ts'

const noMentions = { everyone: false, roles: false, users: false, repliedUser: true }
const target = { platform: 'discord', account: 'default', chatId: '1180000000000000010' }
const inThread = { ...target, threadId: '1182000000000000020' }

function message(more: Partial<OutboundMessage> = {}): OutboundMessage {
  return { deliveryId: 'd1', target, text: 'Hello', kind: 'reply', ...more }
}

const render = (more: Partial<OutboundMessage> = {}, place = target.chatId) =>
  renderMessage(message(more), place, noMentions)

describe('Markdown for Discord', () => {
  const same = [
    'plain words, snake_case_names and 2 * 3 * 4',
    '# One\n\n## Two\n\n### Three',
    '**bold** *italic* ~~gone~~ `code` ||hidden||',
    '> quoted\n> lines',
    '- one\n  - two\n- three\n\n1. first\n2. second',
    '```js\nif (a < b) {\n  # ###### no heading\n}\n```',
    '[a link](https://example.org) and <https://example.org>',
    '<b>tags</b> are shown as they are & stay',
    'a | b without a table',
  ]
  for (const text of same) {
    test(`unchanged: ${JSON.stringify(text).slice(0, 50)}`, async () =>
      assert.equal(await toDiscordMarkdown(text), text))
  }

  const changed: readonly (readonly [string, string, string])[] = [
    [
      'a table is a block of fixed width',
      'Prices:\n\n| Oil | Price |\n|---|--:|\n| **Walnut** | 12 |\n| `Linseed` | 7 |\n\nThat is all.',
      'Prices:\n\n```\nOil      Price\n───────  ─────\nWalnut   12\nLinseed  7\n```\n\nThat is all.',
    ],
    ['wide signs take two columns', '| a | b |\n|-|-|\n| 油 | x |', '```\na   b\n──  ─\n油  x\n```'],
    ['deep headings are bold lines', '#### Four\ntext\n\n##### **Five**', '**Four**\ntext\n\n**Five**'],
    ['headings that are underlined get their sign', 'Title\n=====\n\nmore\n----', '# Title\n\n## more'],
    [
      'a picture is a link',
      'Look: ![a gear](https://example.org/g.png)!',
      'Look: [a gear](https://example.org/g.png)!',
    ],
    ['a picture without words is its address', '![](https://example.org/g.png)', 'https://example.org/g.png'],
    ['a picture in a list, too', '- one ![a](https://e.org/a.png)\n- two', '- one [a](https://e.org/a.png)\n- two'],
    ['a picture within a link', '**see ![a](https://e.org/a.png)**', '**see [a](https://e.org/a.png)**'],
    ['a code block that is not closed', 'Look:\n\n```js\nlet a', 'Look:\n\n```js\nlet a\n```'],
    [
      'a code block that is not closed, after a closed one',
      '```\na\n```\n\n- x\n\n  ```\n  b',
      '```\na\n```\n\n- x\n\n  ```\n  b\n  ```',
    ],
    ['other fences', '~~~py\nx\n~~~\n\n````\n```\n````', '```py\nx\n```\n\n```\n`\u200B``\n```'],
    ['a formula', '*x* \\(a_1 * b\\) $a_b$ \\\\', '*x* \\\\(a\\_1 \\* b\\\\) $a\\_b$ \\\\'],
    ['entities', '&copy; &amp;lt; &#42;x&#42; `&copy;`', '© &lt; \\*x\\* `&copy;`'],
    ['a line break as a tag', 'a<br>b', 'a\nb'],
    ['a line break in a cell', '| a | b |\n|-|-|\n| x<br>y | z |', '```\na    b\n───  ─\nx y  z\n```'],
    [
      'a table with links',
      '| Site | Link |\n|--|--|\n| **Docs** | [guide](https://e.org) |\n\nEnd',
      '**Docs**\n- Link: [guide](https://e.org)\n\nEnd',
    ],
    ['a link with a definition', 'See [it][1].\n\n[1]: https://e.org', 'See [it](https://e.org).'],
    ['an image whose source is also in code', '`![a](b)` ![a](b)', '`![a](b)` [a](b)'],
    ['a rule is a line', 'one\n\n---\n\ntwo', 'one\n\n──────────\n\ntwo'],
  ]
  for (const [name, from, to] of changed) {
    test(name, async () => assert.equal(await toDiscordMarkdown(from), to))
  }

  test('images and headings inside code stay unchanged', async () => {
    const text = '```\n#### no\n![no](x)\n| a | b |\n|---|---|\n```'
    assert.equal(await toDiscordMarkdown(text), text)
  })

  test('quotes that are nested too deeply stay text', async () => {
    const text = `${'>'.repeat(1_900)} ![x](y)`
    const withoutSpaces = (one: string) => one.replaceAll(' ', '')
    assert.equal(withoutSpaces(await toDiscordMarkdown(text)), withoutSpaces(text))
  })
})

describe('the body of a message', () => {
  test('a mention in the text notifies no one, and every send has a nonce', async () => {
    assert.deepEqual(await render({ text: 'Hello @everyone, <@1180000000000000001>' }), {
      content: 'Hello @everyone, <@1180000000000000001>',
      allowed_mentions: { parse: [], replied_user: true },
      nonce: nonceOf('d1'),
      enforce_nonce: true,
    })
  })

  test('options allow and forbid mentions', async () => {
    const open = { everyone: true, roles: true, users: false, repliedUser: false }
    const body = await renderMessage(message(), target.chatId, open)
    assert.deepEqual(body['allowed_mentions'], { parse: ['everyone', 'roles'], replied_user: false })
  })

  test('a nonce is the same for the same delivery, another for another, and fits', () => {
    assert.equal(nonceOf('turn:1'), nonceOf('turn:1'))
    assert.notEqual(nonceOf('turn:1'), nonceOf('turn:2'))
    assert.equal(nonceOf('x'.repeat(500)).length, 24)
  })

  test('a reply refers to the message it answers, and survives its deletion', async () => {
    const reference = { message_id: '1183000000000000001', fail_if_not_exists: false }
    assert.deepEqual((await render({ replyTo: '1183000000000000001' }))['message_reference'], reference)
    assert.equal((await render({ replyTo: 'no id' }))['message_reference'], undefined)
  })

  test('in a thread there is no reference to the message it was opened from, which is in the channel', async () => {
    const answer = { target: inThread, replyTo: inThread.threadId }
    assert.equal((await render(answer, inThread.threadId))['message_reference'], undefined)
    // The thread could not be opened, so the reply is in the channel.
    assert.notEqual((await render(answer, inThread.chatId))['message_reference'], undefined)
    const later = { target: inThread, replyTo: '1183000000000000001' }
    assert.notEqual((await render(later, inThread.threadId))['message_reference'], undefined)
    assert.equal((await render(later, inThread.chatId))['message_reference'], undefined)
  })

  test('a notice has no link previews', async () => {
    assert.equal((await render({ kind: 'notice' }))['flags'], 4)
    assert.equal((await render())['flags'], undefined)
  })

  test('buttons are in rows of five, with truncated labels', async () => {
    const buttons = Array.from({ length: 27 }, (_, index) => ({ id: `b:${index}`, label: 'x'.repeat(90) }))
    const rows = (await render({ buttons }))['components']
    assert.ok(Array.isArray(rows))
    assert.deepEqual(
      rows.map(({ components }) => components.length),
      [5, 5, 5, 5, 5],
    )
    assert.equal(rows[0].components[0].label.length, 80)
    const styled = await render({
      buttons: [
        { id: 'a', label: 'Yes', style: 'primary' },
        { id: 'b', label: 'No', style: 'danger' },
        { id: 'c', label: '' },
      ],
    })
    assert.deepEqual(styled['components'], [
      {
        type: 1,
        components: [
          { type: 2, style: 1, custom_id: 'a', label: 'Yes' },
          { type: 2, style: 4, custom_id: 'b', label: 'No' },
          { type: 2, style: 2, custom_id: 'c', label: '…' },
        ],
      },
    ])
  })

  test('the outbox splits a text that needs more room when it is rendered', () => {
    assert.equal(renderedLength('plain'), 5)
    assert.ok(renderedLength(`$a_b$ ${'x'.repeat(1_990)}`) > 1_996)
    assert.ok(renderedLength(`\`\`\`\n${'x'.repeat(1_995)}`) > 2_000)
  })

  test('a text that rendering would lengthen beyond the limit is sent unchanged', async () => {
    const table = `| ${'a'.repeat(60)} | b |\n|---|---|\n${'| x | y |\n'.repeat(190)}`.slice(0, 1_990)
    assert.ok((await toDiscordMarkdown(table)).length > 2_000)
    assert.equal((await render({ text: table }))['content'], table)
    const open = `${table.slice(0, 1_900)}\n\n\`\`\`js\nlet a`
    assert.equal((await render({ text: open }))['content'], `${open}\n\`\`\``)
  })

  test('an image with a URL is embedded, the URL of another file is appended', async () => {
    const source = { kind: 'url' as const, url: 'https://example.org/gear' }
    const picture = await render({
      text: 'A gear',
      attachment: { kind: 'image', fileName: 'g', mimeType: 'image/png', source },
    })
    assert.deepEqual([picture['content'], picture['embeds']], ['A gear', [{ image: { url: source.url } }]])
    const film = { kind: 'video' as const, fileName: 'g.mp4', mimeType: 'video/mp4', source }
    assert.equal((await render({ text: 'A film', attachment: film }))['content'], 'A film\nhttps://example.org/gear')
    assert.equal((await render({ text: '', attachment: film }))['content'], 'https://example.org/gear')
  })

  test('an edit without buttons removes existing ones', async () => {
    const body = await renderEdit(message({ text: '#### Done' }), noMentions)
    assert.deepEqual(body, {
      content: '**Done**',
      allowed_mentions: { parse: [], replied_user: true },
      components: [],
    })
  })
})
