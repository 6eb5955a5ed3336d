import assert from 'node:assert/strict'
import { test } from 'node:test'
import { estimateMessageTokens, estimateTokens } from '../../../src/agent/compression/context-size.ts'
import {
  type CompressionEntry,
  type CompressionOptions,
  type CompressionPlan,
  clearedResultText,
  groupMessages,
  planCompression,
} from '../../../src/agent/compression/plan.ts'
import type { ChatMessage } from '../../../src/message/transcript.ts'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const says = (content: string): ChatMessage => ({ role: 'assistant', content })
const calls = (...ids: string[]): ChatMessage => ({
  role: 'assistant',
  content: '',
  toolCalls: ids.map((id) => ({ id, name: 'read_file', arguments: '{}' })),
})
const result = (id: string, content = 'x'.repeat(1_000)): ChatMessage => ({
  role: 'tool',
  toolCallId: id,
  name: 'read_file',
  content,
})

/** A text of about `tokens` tokens. */
const words = (tokens: number, mark = 'w') => mark.repeat(tokens * 4)

/** `count` exchanges of 200 tokens each. */
function talk(exchanges: number): ChatMessage[] {
  return Array.from({ length: exchanges }, (_, at) => [user(`q${at} ${words(95)}`), says(`a${at} ${words(95)}`)]).flat()
}

function plan(
  messages: readonly (ChatMessage | CompressionEntry)[],
  more: Partial<CompressionOptions> = {},
): CompressionPlan | undefined {
  const lines = messages.map((one) => ('message' in one ? one : { message: one }))
  return planCompression(lines, {
    contextLength: 10_000,
    limit: 5_000,
    tailTokens: 1_000,
    protectLastMessages: 1,
    protectFirstMessages: 3,
    minTailUserMessages: 1,
    summarizes: 'history',
    turnStart: lines.length,
    minTokensSaved: 1,
    ...more,
  })
}

test('a token is estimated as four letters, or fewer signs; the items of a provider count instead of the text read from them', () => {
  assert.equal(estimateMessageTokens(user('abcdefgh')), 6)
  assert.equal(estimateMessageTokens(calls('a')), 8, 'read_file and {}')
  const withItems: ChatMessage = {
    role: 'assistant',
    content: 'short',
    providerData: { apiMode: 'x', items: [{ type: 'y'.repeat(40), deep: [{ text: 'z'.repeat(40) }], n: 1, no: null }] },
  }
  assert.equal(estimateMessageTokens(withItems), 24)
  assert.equal(estimateTokens([user('ab c'), withItems]), 30)
})

test('a response with tool calls, its results and messages in between are one group', () => {
  const messages = [
    user('q'),
    calls('a', 'b'),
    result('a'),
    user('and then?'),
    result('b'),
    user('next'),
    result('lost'),
  ]
  assert.deepEqual(
    groupMessages(messages).map(({ from, to }) => [from, to]),
    [
      [0, 1],
      [1, 5],
      [5, 6],
      [6, 7],
    ],
  )
})

test('the first exchange and the newest messages that fit are kept, and the summary replaces the rest', () => {
  const messages = talk(20)
  const made = plan(messages)
  assert.ok(made?.summarizedRange)
  assert.deepEqual(made.clearedIndexes, [])
  assert.equal(made.summarizedRange.from, 2)
  const tail = messages.slice(made.summarizedRange.to)
  assert.ok(
    estimateTokens(tail) >= 900 && estimateTokens(tail) <= 1_200,
    `a fifth of the threshold stays: ${estimateTokens(tail)}`,
  )
  // The head ends with the assistant: the summary speaks as the user, and the tail begins with the assistant.
  assert.deepEqual([made.summarizedRange.role, tail[0]?.role], ['user', 'assistant'])
})

test('protected messages are kept beyond their share, up to half of the threshold', () => {
  const messages = talk(20)
  const kept = (protectLastMessages: number) =>
    messages.length - (plan(messages, { protectLastMessages })?.summarizedRange?.to ?? 0)
  assert.ok(kept(16) >= 16 && kept(16) <= 17, `${kept(16)}`)
  assert.ok(kept(38) < 27, `${kept(38)}`)
})

test('a call is never separated from its results', () => {
  for (let chars = 100; chars < 6_000; chars += 130) {
    const messages = [
      ...talk(8),
      user('look'),
      calls('a', 'b', 'c'),
      result('a', words(30)),
      result('b', 'y'.repeat(chars)),
      result('c', words(30)),
      says('done'),
      ...talk(2),
    ]
    const middle = plan(messages)?.summarizedRange
    assert.ok(middle)
    for (const edge of [middle.from, middle.to]) {
      assert.ok(
        groupMessages(messages).some(({ from }) => from === edge),
        `${chars} characters: cut at ${edge}`,
      )
    }
  }
})

test('old tool results are cleared, except short ones and those in the tail', () => {
  const messages = [
    user('look'),
    calls('old', 'short'),
    result('old'),
    result('short', 'ok'),
    ...talk(15),
    user('again'),
    calls('new'),
    result('new'),
    says('done'),
  ]
  assert.deepEqual(plan(messages)?.clearedIndexes, [2])
  assert.ok(clearedResultText.length < 200, 'a cleared result is not cleared again')
})

test('a running turn is not summarised, and loses only results before the tail', () => {
  const own = Array.from({ length: 10 }, (_, at) => [calls(`c${at}`), result(`c${at}`, words(400))]).flat()
  const alone = plan([user('a long job'), ...own], { turnStart: 0 })
  assert.equal(alone?.summarizedRange, undefined)
  assert.deepEqual(alone?.clearedIndexes, [2, 4, 6, 8, 10, 12, 14, 16])
  const behind = plan([...talk(10), user('a long job'), ...own], { turnStart: 20 })
  assert.ok(behind?.summarizedRange)
  assert.ok(behind.summarizedRange.to <= 20)
  assert.ok(behind.clearedIndexes.length > 0 && behind.clearedIndexes.every((at) => at > 20))
  const last = plan([user('job'), calls('a'), result('a', words(9_000))], { turnStart: 0 })
  assert.equal(last, undefined, 'the results of the current response stay')
})

test('roles alternate across the summary', () => {
  const heads = [[], [user('q')], [user('q'), says('a')], [user('q'), calls('h'), result('h', 'ok')]]
  for (const [number, head] of heads.entries()) {
    for (const extra of [0, 1]) {
      const messages = [...head, ...talk(15), ...(extra === 1 ? [user('and now')] : [])]
      const made = plan(messages, { protectFirstMessages: head.length === 0 ? 1 : Math.min(3, head.length + 1) })
      assert.ok(made?.summarizedRange)
      const { from, to, role } = made.summarizedRange
      const roles = [messages[from - 1]?.role, role, messages[to]?.role]
      assert.equal(roles.indexOf(role), 1, `head ${number}, ${extra}: ${roles}`)
      assert.notEqual(roles[2], role, `head ${number}, ${extra}: ${roles}`)
      if (from === 0) assert.equal(role, 'user', 'a conversation begins with the user')
    }
  }
})

test('between user messages the summary is a user message, which providers join', () => {
  const messages = Array.from({ length: 20 }, (_, at) => user(`${at} ${words(100)}`))
  assert.equal(plan(messages, { protectFirstMessages: 1 })?.summarizedRange?.role, 'user')
})

test('an earlier summary is part of the summarised range, and the head stays the same', () => {
  const first = plan(talk(20))
  const [one, two, ...rest] = talk(20)
  assert.ok(one && two)
  const again = plan([one, two, { message: user('the record'), isSummary: true }, ...rest])
  assert.deepEqual([again?.summarizedRange?.from, first?.summarizedRange?.from], [2, 2])
  const early = plan([one, { message: says('the record'), isSummary: true }, ...rest], { protectFirstMessages: 10 })
  assert.equal(early?.summarizedRange?.from, 1, 'an earlier summary never becomes part of the head')
})

test('a first exchange longer than the tail is summarised too', () => {
  const messages = [user(words(2_000)), says('ok'), ...talk(15)]
  assert.equal(plan(messages)?.summarizedRange?.from, 0)
})

test('a short, a recently compressed and a barely reducible conversation are not compressed', () => {
  assert.equal(plan([]), undefined)
  assert.equal(plan(talk(3)), undefined)
  const [one, two] = talk(1)
  assert.ok(one && two)
  assert.equal(plan([one, two, { message: user(words(3_000)), isSummary: true }, ...talk(4)]), undefined)
  assert.ok(plan(talk(20)))
  assert.equal(plan(talk(20), { minTokensSaved: 3_500 }), undefined)
})

test('the length limit of the summary is a fifth of the replaced tokens, within bounds', () => {
  const tokens = (contextLength: number, exchanges: number) =>
    plan(talk(exchanges), { contextLength, limit: contextLength / 2, tailTokens: contextLength / 10 })?.maxSummaryTokens
  assert.equal(tokens(10_000, 20), 500, 'at most 5 % of the context window')
  assert.equal(tokens(50_000, 60), 2_000, 'at least 2,000 if that is more than a fifth')
  const large = tokens(1_000_000, 1_500)
  assert.equal(large, 12_000)
})
