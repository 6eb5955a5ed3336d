import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitMessage, splitReply } from '../../src/outbox/split-message.ts'

const chars = (maxChars: number) => ({ maxChars, unit: 'utf16' as const })

test('a text that fits is unchanged', () => {
  const text = '  hello\r\n\n'
  assert.deepEqual(splitMessage(text, chars(4_000)), [text])
  assert.deepEqual(splitMessage('x'.repeat(50), chars(50)), ['x'.repeat(50)])
})

test('each part of a longer text contains its number', () => {
  const parts = splitMessage('word '.repeat(20).trim(), chars(50))
  assert.deepEqual(
    parts.map((part) => part.slice(-6)),
    [' (1/3)', ' (2/3)', ' (3/3)'],
  )
})

test('a text is cut at a paragraph rather than at a line, and at a line rather than at a word', () => {
  const paragraphs = 'First paragraph that is long.\n\nSecond one\nwith a line and some more words to it.'
  assert.deepEqual(splitMessage(paragraphs, chars(60)), [
    'First paragraph that is long. (1/2)',
    'Second one\nwith a line and some more words to it. (2/2)',
  ])
  const lines = 'First line that is rather long.\nSecond line with some more words to it, and on.'
  assert.deepEqual(splitMessage(lines, chars(60))[0], 'First line that is rather long. (1/2)')
  const words = 'a b c d e f g h i j k l m n o p q r s t u v w x y z'
  assert.deepEqual(splitMessage(words, chars(40)), [
    'a b c d e f g h i j k l m n o (1/2)',
    'p q r s t u v w x y z (2/2)',
  ])
})

test('a break in the first half of a message is ignored, because the message would be nearly empty', () => {
  const [first = ''] = splitMessage(`Title\n\n${'word '.repeat(30)}`, chars(60))
  assert.ok(first.length > 40)
})

test('a text without any break is cut between characters', () => {
  const parts = splitMessage('x'.repeat(100), chars(60))
  assert.deepEqual(
    parts.map((part) => part.length),
    [56, 56],
  )
})

test('emoji, flags and accents are not split', () => {
  for (const character of ['👨‍👩‍👧‍👦', '🇩🇪', '👍🏽', 'e\u0301', '각']) {
    const parts = splitMessage(character.repeat(60), chars(75))
    for (const part of parts) assert.equal(part.replace(/ \(\d+\/\d+\)$/, '').replaceAll(character, ''), '')
  }
})

test('a code block that fits in one message stays in one message', () => {
  const code = '```js\nconst one = 1\n\nconst two = 2\n```'
  const parts = splitMessage(`Some words that come before the code.\n${code}\nAnd some words after it.`, chars(64))
  assert.equal(parts.length, 3)
  assert.equal(parts[1], `${code}\n(2/3)`)
})

test('a longer code block is closed and reopened with its language', () => {
  const lines = Array.from({ length: 6 }, (_, index) => `const variable${index} = ${index}`)
  const parts = splitMessage(`Look:\n\n\`\`\`ts\n${lines.join('\n')}\n\`\`\`\nThat is all.`, chars(98))
  assert.deepEqual(parts, [
    'Look:\n\n```ts\nconst variable0 = 0\nconst variable1 = 1\nconst variable2 = 2\n```\n(1/2)',
    '```ts\nconst variable3 = 3\nconst variable4 = 4\nconst variable5 = 5\n```\nThat is all. (2/2)',
  ])
})

test('a code block without an end is closed in every message', () => {
  const parts = splitMessage(`~~~python\n${'print(1)\n'.repeat(20)}`, chars(80))
  for (const part of parts) assert.match(part, /^~~~python\n(print\(1\)\n)+~~~\n\(\d\/\d\)$/)
})

test('code in a list loses its indentation when it continues in the next message', () => {
  const text = `1. Run this:\n\n    \`\`\`sh\n${'    echo hello\n'.repeat(8)}    \`\`\`\n\n2. Done.`
  const parts = splitMessage(text, chars(110))
  assert.match(parts[0] ?? '', /^1\. Run this:\n\n {4}```sh\n( {4}echo hello\n)+ {4}```\n\(1\/2\)$/)
  assert.match(parts[1] ?? '', /^```sh\n(echo hello\n)+```\n\n2\. Done\. \(2\/2\)$/)
})

test('quoted code stays quoted', () => {
  const text = `> \`\`\`sh\n${'> echo hello\n'.repeat(10)}> \`\`\``
  for (const part of splitMessage(text, chars(80))) {
    assert.match(part, /^> ```sh\n(> echo hello\n)+> ```\n\(\d\/\d\)$/)
  }
})

test('three backticks in indented code or within prose open no block', () => {
  const parts = splitMessage(
    `Prose\n\n    \`\`\`\n\n${'word '.repeat(20)}\n\`\`\`x\`\`\` ${'word '.repeat(20)}`,
    chars(80),
  )
  assert.ok(parts.every((part) => !part.endsWith('```') && !part.startsWith('```\n')))
})

test('a message ends before inline code rather than within it', () => {
  const text = `${'word '.repeat(8)}\`some code with blanks\` and the end of it all`
  assert.deepEqual(splitMessage(text, chars(60)), [
    `${'word '.repeat(8).trim()} (1/2)`,
    '`some code with blanks` and the end of it all (2/2)',
  ])
})

test('the length is counted in the unit of the platform', () => {
  const text = 'ä€😀'.repeat(40)
  for (const part of splitMessage(text, { maxChars: 100, unit: 'bytes' })) assert.ok(Buffer.byteLength(part) <= 100)
  for (const part of splitMessage(text, { maxChars: 60, unit: 'codepoints' })) assert.ok([...part].length <= 60)
  assert.equal(splitMessage(text, { maxChars: 120, unit: 'codepoints' }).length, 1)
  const escaped = (part: string) => part.replaceAll('<', '&lt;').length
  for (const part of splitMessage('a < b '.repeat(40), chars(100), escaped)) assert.ok(escaped(part) <= 100)
})

test('unusual texts take no longer than others', () => {
  const size = 300_000
  const shapes = [
    'x'.repeat(size),
    ' '.repeat(size),
    '\n'.repeat(size),
    '`'.repeat(size),
    '` '.repeat(size / 2),
    '> '.repeat(size / 2),
    '- '.repeat(size / 2),
    '```\n'.repeat(size / 4),
    `\`\`\`\n${'x'.repeat(size)}`,
    `\`\`\`\n${'\n'.repeat(size)}\`\`\``,
    `a${'\u0301'.repeat(size)}`,
    '🇩🇪'.repeat(size / 4),
  ]
  for (const shape of shapes) {
    for (const part of splitMessage(shape, chars(2_000))) assert.ok(part.length <= 2_000)
  }
})

test('a reply is split further until the platform accepts each part', () => {
  const text = '**word** '.repeat(100).trim()
  const fits = (part: string) => part.split('**').length <= 50
  const parts = splitReply(text, { ...chars(2_000), fits })
  assert.ok(parts.length > 1)
  for (const part of parts) assert.ok(fits(part))
  assert.equal(parts.join(' ').match(/word/g)?.length, 100)
  assert.deepEqual(splitReply('short', { ...chars(2_000), fits }), ['short'])
})

test('a part that the platform never accepts is sent nevertheless', () => {
  assert.ok(splitReply('word '.repeat(1_000), { ...chars(2_000), fits: () => false }).length > 1)
})
