import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extractMedia, visibleDraftText } from '../../src/outbox/extract-media.ts'

/** Kind, name and location of each file. */
function filesOf(text: string): string[][] {
  return extractMedia(text).items.map(({ kind, fileName, source }) => [
    kind,
    fileName,
    source.kind === 'file' ? source.path : source.url,
  ])
}

const textOf = (text: string) => extractMedia(text).text

test('a media tag is removed from the text without a gap', () => {
  const text = 'Here it is:\n\nMEDIA:/tmp/chart.png\n\nIt shows the year.'
  assert.equal(textOf(text), 'Here it is:\n\nIt shows the year.')
  assert.deepEqual(filesOf(text), [['image', 'chart.png', '/tmp/chart.png']])
})

test('a tag within a sentence is removed without the surrounding text', () => {
  assert.equal(textOf('See MEDIA:/tmp/a.png, please.'), 'See , please.')
  assert.equal(textOf('See MEDIA:/tmp/a.png now'), 'See now')
})

test('paths with spaces are quoted or on a line of their own', () => {
  for (const tag of ['MEDIA:"/tmp/my file.pdf"', "MEDIA:'/tmp/my file.pdf'", 'MEDIA:/tmp/my file.pdf']) {
    assert.deepEqual(filesOf(tag), [['document', 'my file.pdf', '/tmp/my file.pdf']])
  }
})

test('images of Markdown and HTML are sent with their captions', () => {
  const text =
    'Look:\n![The *sea* at night](https://example.org/sea_(1).jpg "title")\n<img alt="Hills" src="https://example.org/?id=1&amp;s=2">'
  const { items } = extractMedia(text)
  assert.equal(textOf(text), 'Look:')
  assert.deepEqual(
    items.map(({ kind, caption, source }) => [kind, caption, source]),
    [
      ['image', 'The *sea* at night', { kind: 'url', url: 'https://example.org/sea_(1).jpg' }],
      ['image', 'Hills', { kind: 'url', url: 'https://example.org/?id=1&s=2' }],
    ],
  )
})

test('a local image is a file', () => {
  assert.deepEqual(filesOf('![](/tmp/a%20b.png)'), [['image', 'a b.png', '/tmp/a b.png']])
  assert.deepEqual(filesOf('MEDIA:file:///tmp/a.png'), [['image', 'a.png', '/tmp/a.png']])
})

test('a path on a line of its own is sent if it is media, and stays in the text otherwise', () => {
  assert.deepEqual(filesOf('Done:\n  /tmp/song.mp3  \n~/film.mp4'), [
    ['audio', 'song.mp3', '/tmp/song.mp3'],
    ['video', 'film.mp4', '~/film.mp4'],
  ])
  for (const line of [
    '/etc/hosts',
    '/new starts afresh',
    'at /tmp/a.png',
    '/tmp/report.pdf',
    '//cdn/a.png',
    '/a b.png',
  ]) {
    assert.deepEqual(extractMedia(line), { text: line, items: [] })
  }
})

test('tags in code are ignored', () => {
  for (const text of [
    '`MEDIA:/tmp/a.png`',
    '```\nMEDIA:/tmp/a.png\n/tmp/b.png\n![](https://example.org/a.png)\n```',
    '> ~~~\n> MEDIA:/tmp/a.png\n> ~~~',
    'a ``b\nMEDIA:/tmp/a.png `c`` d',
    '```\nMEDIA:/tmp/a.png',
    '`[[audio_as_voice]]`',
  ]) {
    assert.deepEqual(extractMedia(text), { text, items: [] })
  }
})

test('text that only resembles a tag stays', () => {
  for (const text of [
    'Write MEDIA:<path> into the answer.',
    'MEDIA: is a word',
    'SOCIALMEDIA:/tmp/a.png',
    'MEDIA:relative/a.png',
    'MEDIA:/tmp/folder/',
    '![alt](relative.png)',
    '![alt](data:image/png;base64,AAAA)',
    '[![badge](https://example.org/b.svg)](https://example.org)',
    '\\![no picture](https://example.org/a.png)',
    '<img src="relative.png">',
    '[[something else]]',
  ]) {
    assert.deepEqual(extractMedia(text), { text, items: [] })
  }
})

test('the kind follows from the file name; images that platforms may refuse are documents', () => {
  const names = [
    'a.PNG',
    'a.jpeg',
    'a.webp',
    'a.gif',
    'a.svg',
    'a.heic',
    'a.mov',
    'a.flac',
    'a.opus',
    'a.pdf',
    'a',
    'a.b',
  ]
  assert.deepEqual(
    names.map((name) => filesOf(`MEDIA:/tmp/${name}`)[0]?.[0]),
    [
      'image',
      'image',
      'image',
      'animation',
      'document',
      'document',
      'video',
      'audio',
      'audio',
      'document',
      'document',
      'document',
    ],
  )
})

test('the directives for sending files apply to the whole reply and are never shown', () => {
  const voice = '[[audio_as_voice]]\nMEDIA:/tmp/a.ogg\nMEDIA:/tmp/b.wav\nMEDIA:/tmp/c.png'
  assert.deepEqual(
    extractMedia(voice).items.map(({ kind }) => kind),
    ['voice', 'audio', 'image'],
  )
  assert.equal(textOf(voice), '')
  const documents = 'MEDIA:/tmp/a.png MEDIA:/tmp/a.ogg [[as_document]] [[audio_as_voice]]'
  assert.deepEqual(
    extractMedia(documents).items.map(({ kind }) => kind),
    ['document', 'document'],
  )
})

test('a file that is named twice is sent once', () => {
  assert.equal(filesOf('MEDIA:/tmp/a.png\n/tmp/a.png\nMEDIA:"/tmp/a.png"').length, 1)
})

test('of a long list of files the first twenty are sent and the others are shown', () => {
  const lines = Array.from({ length: 30 }, (_, index) => `/tmp/${index}.png`)
  const { text, items } = extractMedia(lines.join('\n'))
  assert.equal(items.length, 20)
  assert.equal(text, lines.slice(20).join('\n'))
})

test('a growing reply shows no tag and no part of one', () => {
  const text =
    'Look at this.\n- ![sea](https://example.org/a.png)\nMEDIA:"/tmp/a b.pdf"\n/tmp/c.mp4\n<img src="https://example.org/x">\n[[as_document]]\nThat is all [1] <b> !'
  for (let end = 0; end <= text.length; end += 1) {
    assert.doesNotMatch(visibleDraftText(text.slice(0, end)), /ME|!\[|\[\[|<i|\/|tmp|- /)
  }
  assert.equal(visibleDraftText(`${text}.`), 'Look at this.\nThat is all [1] <b> !.')
})

test('a tag after an open backtick is held back until it is known whether it is code', () => {
  assert.equal(visibleDraftText('a `b\nMEDIA:/tmp/a.png\nmore'), 'a `b')
  assert.equal(visibleDraftText('a `b\nMEDIA:/tmp/a.png\nmore`\n'), 'a `b\nMEDIA:/tmp/a.png\nmore`')
  assert.equal(visibleDraftText('a `b\nMEDIA:/tmp/a.png\nmore\n\nand'), 'a `b\nmore\n\nand')
})

test('tags with a path that is too long, and tags without a path, stay in the text', () => {
  for (const end of ['', '.', '.png', '!']) {
    const text = `MEDIA:/${'a'.repeat(1_999)}${end}${'b'.repeat(10)}`
    assert.deepEqual(extractMedia(text), { text, items: [] })
  }
  const tags = 'MEDIA:'.repeat(2_000)
  assert.deepEqual(extractMedia(tags), { text: tags, items: [] })
})
