import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { extractMedia, visibleDraftText } from '../../src/outbox/extract-media.ts'

const seed = 20_261_121

/** Words without media tags, and Markdown syntax. */
const word = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9.,:()*_!-]{1,8}$/),
  fc.constantFrom(
    '**bold**',
    '[link](https://example.org)',
    '[[',
    '![',
    '<img',
    'MEDIA',
    '/tmp',
    '`',
    '``',
    '漢字',
    '👩‍🚀',
    '|',
    '<b>',
  ),
)
const blank = fc.constantFrom(' ', '  ', '\n', '\n\n', '\n- ', '\n> ', '\n1. ', '\n\n\n')
const tag = fc.constantFrom(
  'MEDIA:/tmp/a.png',
  'MEDIA:"/tmp/b c.pdf"',
  'MEDIA:~/voice.ogg',
  '![alt](https://example.org/d.jpg)',
  '<img src="https://example.org/e.gif">',
  '[[audio_as_voice]]',
  '[[as_document]]',
  '\n/tmp/f.mp4\n',
)
const code = fc.constantFrom(
  '`MEDIA:/tmp/code.png`',
  '\n```\nMEDIA:/tmp/code.png\n/tmp/code.png\n```\n',
  '\n~~~js\n![x](https://example.org/code.png)\n~~~\n',
)
const piece = fc.oneof(
  { weight: 6, arbitrary: word },
  { weight: 4, arbitrary: blank },
  { weight: 2, arbitrary: tag },
  { weight: 1, arbitrary: code },
)
const reply = fc.array(piece, { maxLength: 40, size: 'max' }).map((pieces) => pieces.join(''))

const bare = (text: string) => text.replace(/\s/g, '')

/** Whether the short text is a subsequence of the long one. */
function isWithin(short: string, long: string): boolean {
  let at = 0
  for (const letter of short) {
    at = long.indexOf(letter, at) + letter.length
    if (at < letter.length) return false
  }
  return true
}

test('only media tags are removed from a reply', () => {
  const letters = fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,9}$/), tag, fc.constantFrom(' ', '\n', '\n\n')), {
    maxLength: 18,
  })
  fc.assert(
    fc.property(letters, (parts) => {
      const text = parts.map(([letter, file, gap]) => `${letter} ${file}${gap}`).join('')
      const kept = extractMedia(text).text
      assert.equal(bare(kept), parts.map(([letter]) => letter).join(''))
    }),
    { numRuns: 500, seed },
  )
})

test('code is kept unchanged and names no file', () => {
  const plain = fc.stringMatching(/^[a-z ,.]{1,20}$/)
  const block = fc.oneof(
    plain,
    fc.tuple(plain, tag).map(([text, file]) => `${text} ${file}`),
    code,
  )
  fc.assert(
    fc.property(fc.array(block, { maxLength: 12, size: 'max' }), (blocks) => {
      const { text: kept, items } = extractMedia(blocks.join('\n\n'))
      const codes = blocks.filter((text) => /`|~~~/.test(text))
      assert.deepEqual(
        kept.match(/`+[^`]+`+|~~~[^~]+~~~/g) ?? [],
        codes.map((text) => text.trim()),
      )
      assert.ok(items.every(({ fileName }) => fileName !== 'code.png'))
    }),
    { numRuns: 500, seed },
  )
})

test('no text is added, and a reply without a file is not changed', () => {
  fc.assert(
    fc.property(reply, (text) => {
      const { text: kept, items } = extractMedia(text)
      assert.ok(isWithin(bare(kept), bare(text)))
      if (items.length === 0 && !text.includes('[[a')) assert.equal(kept, text)
    }),
    { numRuns: 500, seed },
  )
})

test('the text of a draft only grows and ends as the text of the reply', () => {
  fc.assert(
    fc.property(reply, (text) => {
      let before = ''
      for (let end = 0; end <= text.length; end += 1) {
        const shown = visibleDraftText(text.slice(0, end))
        assert.ok(shown.startsWith(before), `${JSON.stringify(text.slice(0, end))} took back ${JSON.stringify(before)}`)
        before = shown
      }
      const whole = `${text}\n\nend`
      assert.equal(visibleDraftText(`${whole}\n\n`), extractMedia(whole).text.trimEnd())
    }),
    { numRuns: 200, seed },
  )
})
