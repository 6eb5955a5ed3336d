import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseMarkdown } from '../../src/lib/markdown.ts'
import { splitMessage } from '../../src/outbox/split-message.ts'
import type { MessageLimits } from '../../src/platforms/adapter.ts'

const lengths: Record<MessageLimits['unit'], (text: string) => number> = {
  utf16: (text) => text.length,
  codepoints: (text) => Array.from(text).length,
  bytes: (text) => Buffer.byteLength(text),
}

const limits: fc.Arbitrary<MessageLimits> = fc.record({
  maxChars: fc.integer({ min: 60, max: 400 }),
  unit: fc.constantFrom('utf16', 'codepoints', 'bytes'),
})

const word = fc.oneof(
  fc.stringMatching(/^[a-z]{1,12}$/),
  fc.constantFrom('👨‍👩‍👧', '`code with blanks`', 'naïve', '漢字', '🇫🇷', '**bold**', '[link](https://example.org)'),
)
const prose = fc.array(word, { minLength: 1, maxLength: 40, size: 'max' }).map((words) => words.join(' '))
const codeLine = fc.oneof(
  fc.stringMatching(/^ {0,6}[a-z(){};=]{1,30}$/),
  fc.constantFrom('', '- item', '> quote', '`x``'),
)
const fence = fc
  .record({
    mark: fc.constantFrom('```', '~~~', '````'),
    language: fc.constantFrom('', 'js', 'python'),
    lines: fc.array(codeLine, { minLength: 1, maxLength: 40, size: 'max' }),
  })
  .map(({ mark, language, lines }) => `${mark}${language}\n${lines.join('\n')}\n${mark}`)
const indented = (by: string, text: string) => text.replaceAll(/^/gm, by)
const listed = fc.tuple(word, fence).map(([title, code]) => `1. ${title}\n\n${indented('   ', code)}`)
const quoted = fence.map((code) => indented('> ', code))
const block = fc.oneof(prose, fence, listed, quoted)
const markdown = fc.array(block, { minLength: 1, maxLength: 8, size: 'max' }).map((blocks) => blocks.join('\n\n'))

/** Whitespace and quote marks may change between parts. */
const squeeze = (text: string) => text.replace(/[\s>]+/g, '')
const fenceLine = /^[ >]*(?:`{3,}|~{3,})[a-z]*$/

/** Joins the parts without the numbers and fence lines that the splitter added. */
function joined(source: string, parts: readonly string[]): string {
  const wanted = squeeze(source)
  let found = ''
  for (const [index, part] of parts.entries()) {
    const number = `(${index + 1}/${parts.length})`
    const bare = parts.length === 1 ? part : part.slice(0, -number.length - 1)
    const lines = bare.split('\n')
    const withoutFirst = fenceLine.test(lines[0] ?? '') ? lines.slice(1) : lines
    const cut = (of: string[]) => (fenceLine.test(of.at(-1) ?? '') ? of.slice(0, -1) : of)
    const candidates = [lines, withoutFirst, cut(lines), cut(withoutFirst)].map((of) => squeeze(of.join('\n')))
    const match = candidates.find((candidate) => wanted.startsWith(candidate, found.length))
    assert.ok(match !== undefined, `part ${number} is not what follows in the text: ${JSON.stringify(part)}`)
    found += match
  }
  return found
}

/** Whether every code block is closed in its message. */
function isBalanced(part: string): boolean {
  let open: string | undefined
  for (const line of part.split('\n')) {
    const mark = /^[ >]*(`{3,}|~{3,})/.exec(line)?.[1]
    if (mark === undefined) continue
    if (open === undefined) open = mark
    else if (mark[0] === open[0] && mark.length >= open.length && line.replace(/^[ >]*/, '') === mark) open = undefined
  }
  return open === undefined
}

test('every part is within the limit, no character is cut and no text is lost', () => {
  const anything = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 800, size: 'max' }),
    fc.string({ unit: fc.constantFrom(' ', '\n', '`', '~', '>', '-', 'a', '😀'), maxLength: 800, size: 'max' }),
  )
  fc.assert(
    fc.property(anything, limits, (text, limit) => {
      const parts = splitMessage(text, limit)
      for (const part of parts) {
        assert.ok(lengths[limit.unit](part) <= limit.maxChars)
        assert.ok(part.isWellFormed())
      }
    }),
    { numRuns: 300 },
  )
})

test('joined parts equal the reply, and every code block is closed in its part', () => {
  fc.assert(
    fc.property(markdown, limits, (text, limit) => {
      const parts = splitMessage(text, limit)
      assert.equal(joined(text, parts), squeeze(text))
      for (const part of parts) {
        assert.ok(lengths[limit.unit](part) <= limit.maxChars)
        assert.ok(isBalanced(part), JSON.stringify(part))
      }
    }),
    { numRuns: 300 },
  )
})

/** The code of all blocks, including those in lists and quotes. */
function codeIn(tokens: unknown): string {
  if (Array.isArray(tokens)) return tokens.map(codeIn).join('')
  if (typeof tokens !== 'object' || tokens === null) return ''
  if ('type' in tokens && tokens.type === 'code' && 'text' in tokens) return String(tokens.text)
  return codeIn(Object.values(tokens))
}

test('a Markdown parser finds the same code in the parts and in the reply', async () => {
  const codeOf = async (text: string) => squeeze(codeIn(await parseMarkdown(text)))
  await fc.assert(
    fc.asyncProperty(markdown, limits, async (text, limit) => {
      const codes = await Promise.all(splitMessage(text, limit).map(codeOf))
      assert.equal(codes.join(''), await codeOf(text))
    }),
    { numRuns: 150 },
  )
})
