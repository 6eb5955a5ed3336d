/**
 * Markdown that Slack renders itself, in streams and in Markdown blocks. Slack reads it as standard Markdown, so the lexer of
 * `marked` without the rules of this project shows what a user sees.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { escapeGrowingMarkdown, escapeMarkdown } from '../../../../platforms/slack/outbound/escape.ts'
import { createModelAnswers } from '../../../kit/rendering/model-answers.ts'
import { findLostText, lettersOf, readLetters, readPlainText } from '../../../kit/rendering/read-plain-text.ts'

const answers = createModelAnswers()
const show = async (text: string) => readPlainText((await escapeMarkdown(text)).replaceAll('\u2060', ''))

const formulas = [
  '\\(a_1 * b_2 * c_3\\)',
  '\\[ x_1 = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a} \\]',
  '$e^{i\\pi} * a_i * b_i$',
  '$$\\begin{pmatrix} a & b \\\\ c < d \\end{pmatrix}$$',
  '$$\\begin{pmatrix}\na &lt; b \\\\\nc <b> d\n\\end{pmatrix}$$',
  '\\[\nf(x)\n= x^2\n- 1\n# \\\\\n2. a\n--\n\\]',
]

for (const formula of formulas) {
  test(`the formula ${JSON.stringify(formula)} is shown unchanged`, async () => {
    const indented = formula.replaceAll('\n', '\n  ')
    const quoted = formula.replaceAll('\n', '\n> ')
    for (const text of [formula, `Text *a*:\n${formula}\nmore *b*`, `- item *c*\n\n  ${indented}`, `> ${quoted}`]) {
      const shown = await show(text)
      assert.ok(shown.replace(/\n +/g, '\n').includes(formula), shown)
    }
  })
}

for (const text of [
  '`\\(a_1\\)` and `` $a_1$ ` ``',
  '```latex\n\\[ x_1 \\]\n```',
  '- item\n\n  ~~~\n  $x_1$\n  ~~~',
  '> ```\n> \\(a\\)\n> ```',
  '    \\(a_1\\)',
  'It costs $5_ and *not* $6_.',
  'Escapes: \\*a\\*, \\_, C:\\path\\to and \\[brackets here\\]',
]) {
  test(`nothing is escaped in ${JSON.stringify(text)}`, async () => assert.equal(await escapeMarkdown(text), text))
}

describe('a growing text', () => {
  const held: Readonly<Record<string, string>> = {
    'Let \\(a_1': 'Let ',
    'Let \\': 'Let ',
    'Let $a': 'Let $a',
    'Let $a_1 + b': 'Let $a',
    'Let $a_1$': 'Let $a',
    'Let $a_1$ ': 'Let $a\\_1$ ',
    'It costs $5 and **not** 6': 'It costs $5 and **not** 6',
    'It costs $5 *or\nmore*': 'It costs $5 *or\nmore*',
    'Code `a and \\(b\\) ': 'Code `a and ',
    '```\n\\(a': '```\n\\(a',
    '``` \\(a\\) ': '``` ',
    'Let \\(a\n\nnext *b*': 'Let \\(a\n\nnext *b*',
  }
  for (const [text, frame] of Object.entries(held)) {
    test(`shows ${JSON.stringify(frame)} of ${JSON.stringify(text)}`, async () =>
      assert.equal(await escapeGrowingMarkdown(text), frame))
  }

  test('is the start of the final text at every position of every answer', async () => {
    const problems: string[] = []
    for (const { name, text } of answers) {
      const final = await escapeMarkdown(text)
      const step = Math.max(1, Math.ceil(text.length / 150))
      for (let end = 0; end <= text.length; end += step) {
        const frame = await escapeGrowingMarkdown(text.slice(0, end))
        if (!final.startsWith(frame))
          problems.push(`${name}: ${JSON.stringify(text.slice(Math.max(0, end - 60), end))}`)
      }
    }
    assert.deepEqual(problems, [])
  })
})

test('no answer loses text', async () => {
  const problems: string[] = []
  for (const { name, text } of answers) {
    const lost = findLostText(readLetters(text), lettersOf(await show(text)))
    if (lost !== undefined) problems.push(`${name}: ${lost}`)
  }
  assert.deepEqual(problems, [])
})
