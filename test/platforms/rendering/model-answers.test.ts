/**
 * Answers as models write them, rendered for each platform: every message is valid for the API and no text is lost.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { renderedLength } from '../../../platforms/discord/outbound/markup.ts'
import { renderMessage } from '../../../platforms/discord/outbound/render.ts'
import { renderPosts } from '../../../platforms/slack/outbound/render.ts'
import { countMarkers, maxEntities, renderText } from '../../../platforms/telegram/outbound/render.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import { splitReply } from '../../../src/outbox/split-message.ts'
import type { MessageLimits } from '../../../src/platforms/adapter.ts'
import { createModelAnswers } from '../../kit/rendering/model-answers.ts'
import { findLostText, lettersOf, readLetters } from '../../kit/rendering/read-plain-text.ts'
import { readDiscordMessage, readSlackPost, readTelegramMessage } from '../../kit/rendering/validators.ts'

const answers = createModelAnswers().map((answer) => ({ ...answer, letters: readLetters(answer.text) }))

interface Platform {
  readonly limits: MessageLimits
  /** The visible text of a part of an answer. Throws when the API would reject it. */
  read(part: string): Promise<string>
}

const message = (text: string): OutboundMessage => ({
  deliveryId: 'd1',
  target: { platform: 'test', account: 'default', chatId: '1180000000000000010' },
  text,
  kind: 'reply',
})
const noMentions = { everyone: false, roles: false, users: false, repliedUser: false }
const buttons = [{ id: 'a', label: 'Allow' }]

const platforms: Readonly<Record<string, Platform>> = {
  Telegram: {
    limits: { maxChars: 4_096, unit: 'utf16', fits: (text) => countMarkers(text) <= maxEntities },
    read: async (part) => readTelegramMessage(await renderText(part)),
  },
  Discord: {
    limits: { maxChars: 2_000, unit: 'utf16', fits: (text) => renderedLength(text) <= 2_000 },
    read: async (part) => readDiscordMessage(await renderMessage(message(part), '1180000000000000010', noMentions)),
  },
  Slack: {
    limits: { maxChars: 39_000, unit: 'utf16' },
    async read(part) {
      for (const post of await renderPosts({ ...message(part), buttons }, { richBlocks: false })) readSlackPost(post)
      for (const post of await renderPosts(message(part), { richBlocks: true })) readSlackPost(post)
      const posts = await renderPosts(message(part), { richBlocks: false })
      return posts.map(readSlackPost).join('\n')
    },
  },
}

const formulas = [
  '\\(a_1 * b_2 * c_3\\)',
  '\\[ x_1 = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a} \\]',
  '$e^{i\\pi} * a_i * b_i$',
  '$$\\begin{pmatrix} a & b \\\\ c < d \\end{pmatrix}$$',
  '\\[\nf(x)\n= x^2\n- 1\n# \\\\\n\\]',
]

test('the corpus has at least 200 different answers', () => {
  assert.ok(new Set(answers.map(({ text }) => text)).size >= 200)
})

for (const [name, { limits, read }] of Object.entries(platforms)) {
  describe(`answers on ${name}`, () => {
    for (const formula of formulas) {
      test(`the formula ${JSON.stringify(formula)} is shown unchanged`, async () => {
        for (const text of [
          formula,
          `Text *a*:\n${formula}\nmore *b*`,
          `- item *c*\n\n  ${formula.replaceAll('\n', '\n  ')}`,
        ]) {
          const shown = await read(text)
          // In a list the lines of a formula are indented.
          assert.ok(shown.replace(/\n +/g, '\n').includes(formula), shown)
        }
      })
    }

    // One test for all answers: a test for each of them would cost more than the rendering.
    test('every answer is valid for the API and loses no text', async () => {
      const problems: string[] = []
      for (const { name: answer, text, letters } of answers) {
        try {
          const lost = findLostText(letters, await showAll(text))
          if (lost !== undefined) problems.push(`${answer}: text was lost or moved: ${lost}`)
        } catch (error) {
          problems.push(`${answer}: ${error instanceof Error ? error.message : String(error)}`)
        }
      }
      assert.deepEqual(problems, [])
    })

    /** The letters of all parts of an answer. */
    async function showAll(answer: string): Promise<string> {
      const parts = splitReply(answer, limits)
      let shown = ''
      for (const [index, part] of parts.entries()) {
        const text = await read(part)
        shown += lettersOf(parts.length === 1 ? text : text.replace(`(${index + 1}/${parts.length})`, ''))
      }
      return shown
    }
  })
}

describe('the checks detect', () => {
  const discord = (content: string, mentions: unknown = { parse: [], replied_user: false }) => ({
    content,
    allowed_mentions: mentions,
  })
  const bad: Readonly<Record<string, () => unknown>> = {
    'a tag that is not closed': () => readTelegramMessage({ text: '<b>x', isHtml: true }),
    'an unknown tag': () => readTelegramMessage({ text: '<p>x</p>', isHtml: true }),
    'too many entities': () => readTelegramMessage({ text: '<b>x</b> '.repeat(101), isHtml: true }),
    'a long message': () => readTelegramMessage({ text: 'x'.repeat(4_097), isHtml: false }),
    'an open fence': () => readDiscordMessage(discord('```js\nx')),
    'an allowed mention': () => readDiscordMessage(discord('@everyone', { parse: ['everyone'], replied_user: false })),
    'a mention on Slack': () => readSlackPost({ text: '<!channel>' }),
    'an ampersand': () => readSlackPost({ text: 'a & b' }),
    'a long section': () =>
      readSlackPost({ text: 'x', blocks: [{ type: 'section', text: { type: 'mrkdwn', text: 'x'.repeat(3_001) } }] }),
  }
  for (const [name, check] of Object.entries(bad)) test(name, () => assert.throws(check))

  test('a lost letter', () => {
    assert.notEqual(findLostText(readLetters('one **two** three'), 'onetwthree'), undefined)
    assert.equal(findLostText(readLetters('one **two** three'), 'onetwothree'), undefined)
  })
})
