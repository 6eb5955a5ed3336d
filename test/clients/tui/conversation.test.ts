import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../../../src/clients/chat/chat-client.ts'
import {
  type Conversation,
  type ConversationEvent,
  isWorking,
  newConversation,
  reduceConversation,
} from '../../../src/clients/tui/conversation.ts'
import type { TurnResult } from '../../../src/message/turn-result.ts'

function after(...events: ConversationEvent[]): Conversation {
  return events.reduce(reduceConversation, newConversation('c'))
}

const chat = (event: ChatEvent): ConversationEvent => ({ type: 'chat', event })
const sent = (text: string): ConversationEvent => ({ type: 'sent', text })
const message = (text: string, id = 'm'): ConversationEvent => chat({ type: 'message', kind: 'message', id, text })
const draft = (text: string, id = 'm'): ConversationEvent => chat({ type: 'draft', id, text })
const activity = (what: Extract<ChatEvent, { type: 'activity' }>['activity']) =>
  chat({ type: 'activity', activity: what })

function result(text: string, more: Partial<TurnResult> = {}): ConversationEvent {
  const usage = { inputTokens: 10, outputTokens: 2, cost: 0.5 }
  return { type: 'result', result: { status: 'done', text, sessionId: 's', model: 'm', usage, ...more } }
}

const texts = ({ entries }: Conversation) => entries.map((entry) => ('text' in entry ? entry.text : entry.tool))
const buttons = [
  { id: 'b1', label: 'Once' },
  { id: 'b2', label: 'Deny' },
  { id: 'b3', label: 'Something else', isText: true },
]
const question = (text = 'Run rm?', id = 'q') => chat({ type: 'message', kind: 'message', id, text, buttons })

test('a reply is shown once, whether the message or the result of the turn is first', () => {
  for (const events of [
    [message('yes'), result('yes')],
    [result('yes'), message('yes')],
    [draft('y'), draft('ye'), message('yes'), result('yes')],
    [draft('y'), result('yes'), draft('ye'), message('yes')],
    [draft('y'), activity({ kind: 'turn-ended' }), message('yes'), result('yes')],
    [draft('y'), activity({ kind: 'turn-ended' }), result('yes'), message('yes')],
  ]) {
    const state = after(sent('ok?'), ...events)
    assert.deepEqual(texts(state), ['ok?', 'yes'])
    assert.equal(isWorking(state), false)
  }
})

test('the same answer to two messages is shown twice', () => {
  const state = after(sent('a'), message('ok', '1'), result('ok'), sent('b'), message('ok', '2'), result('ok'))
  assert.deepEqual(texts(state), ['a', 'ok', 'b', 'ok'])
})

test('a growing answer stays in its place, and a late draft changes nothing', () => {
  const state = after(
    sent('a'),
    draft('Let me', '1'),
    activity({ kind: 'tool-started', tool: 'terminal', callId: 'x', label: 'ls' }),
    message('Let me look.', '1'),
    draft('Let', '1'),
    draft('Done', '2'),
  )
  assert.deepEqual(texts(state), ['a', 'Let me look.', 'terminal', 'Done'])
})

test('parallel calls of one tool end by their own ids', () => {
  const started = (callId: string) => activity({ kind: 'tool-started', tool: 'read_file', callId, label: callId })
  const state = after(
    sent('a'),
    started('1'),
    started('2'),
    activity({ kind: 'tool-ended', tool: 'read_file', callId: '2', ok: false, summary: 'no such file' }),
  )
  const tools = state.entries.flatMap((entry) => (entry.kind === 'tool' ? [entry] : []))
  assert.deepEqual(
    tools.map(({ label, summary, state: what }) => [label, summary, what]),
    [
      ['1', '', 'running'],
      ['2', 'no such file', 'failed'],
    ],
  )
  const ended = reduceConversation(state, result('', { status: 'stopped' }))
  assert.ok(ended.entries.every((entry) => entry.kind !== 'tool' || entry.state !== 'running'))
})

test('a question waits until it has an answer, from here or from another client', () => {
  const asked = after(sent('a'), question())
  assert.deepEqual(
    asked.questions.map(({ choices, takesText }) => [choices.map(({ label }) => label), takesText]),
    [[['Once', 'Deny'], true]],
  )
  const settled = reduceConversation(
    asked,
    chat({ type: 'settled', button: 'b1', text: 'Run rm?\n\n**Allowed once**' }),
  )
  assert.deepEqual(settled.questions, [])
  assert.deepEqual(texts(settled), ['a', 'Run rm?', '→ Allowed once'])
  const own = after(sent('a'), question(), { type: 'answered', button: 'b2', text: 'Denied.', isTaken: true })
  assert.deepEqual([own.questions, texts(own)], [[], ['a', 'Run rm?', '→ Denied.']])
  const refused = after(sent('a'), question(), { type: 'answered', button: 'b2', text: 'Not you.', isTaken: false })
  assert.equal(refused.questions.length, 1)
})

test('a question that is sent again after a lost connection is asked once', () => {
  const again = chat({ type: 'missed', kind: 'message', id: 'q', text: 'Run rm?', buttons })
  assert.equal(after(question(), again).questions.length, 1)
})

test('what was missed while the connection was lost is added, and what was shown is not repeated', () => {
  const missed = (text: string) => chat({ type: 'missed', kind: 'message', id: text, text })
  const state = after(sent('a'), message('one'), result('one'), chat({ type: 'lost' }), missed('one'), missed('two'))
  assert.deepEqual(texts(state), ['a', 'one', 'two'])
  assert.equal(state.connection, 'lost')
  assert.equal(reduceConversation(state, chat({ type: 'ready', cursor: '2' })).connection, 'live')
})

test('history comes before what has arrived meanwhile, which is not repeated', () => {
  const state = after(message('new', '8'), message('old', '9'), {
    type: 'history',
    entries: [
      { kind: 'person', text: 'hello', state: 'sent' },
      { kind: 'agent', id: '1', text: 'old', isDraft: false },
    ],
  })
  assert.deepEqual(texts(state), ['hello', 'old', 'new'])
})

test('a message that could not be sent is marked, and the reason stands below it', () => {
  const state = after(sent('a'), { type: 'not-sent', text: 'a', reason: 'No gateway runs.' })
  assert.deepEqual(state.entries, [
    { kind: 'person', text: 'a', state: 'failed' },
    { kind: 'error', text: 'No gateway runs.' },
  ])
  assert.equal(isWorking(state), false)
})

test('a failed turn shows its reason once, and a stopped one says so', () => {
  const notice = chat({ type: 'message', kind: 'notice', id: 'n', text: 'The model is down.' })
  const failed = result('The model is down.', { status: 'failed', errorCode: 'agent/failed' })
  assert.deepEqual(texts(after(sent('a'), notice, failed)), ['a', 'The model is down.'])
  assert.deepEqual(texts(after(sent('a'), failed, notice)), ['a', 'The model is down.'])
  assert.deepEqual(texts(after(sent('a'), result('', { status: 'stopped' }))), ['a', 'Stopped.'])
})

test('a command that opens another conversation shows what was said in it', () => {
  const history = [{ kind: 'agent', id: '1', text: 'about taxes', isDraft: false }] as const
  const state = after(sent('a'), message('one'), result('one'), sent('/resume taxes'), result('Opened.'), {
    type: 'replaced',
    entries: history,
  })
  assert.deepEqual(texts(state), ['about taxes', '/resume taxes', 'Opened.'])
})

test('tokens and costs of the turns add up', () => {
  const { spent } = after(sent('a'), result('x'), sent('b'), result('y'))
  assert.deepEqual(spent, { input: 20, output: 4, cost: 1 })
})

test('a conversation keeps a bounded number of entries', () => {
  const many = Array.from({ length: 2_100 }, (_, index) => message(String(index), String(index)))
  const state = after(...many)
  assert.equal(state.entries.length, 2_000)
  assert.equal(texts(state).at(-1), '2099')
})
