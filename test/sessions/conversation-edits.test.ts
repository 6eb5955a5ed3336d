import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage } from '../../src/message/transcript.ts'
import { listExchanges } from '../../src/sessions/conversation-edits.ts'
import type { TranscriptEntry } from '../../src/sessions/transcript.ts'

const user = (content: string): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })
const result: ChatMessage = { role: 'tool', toolCallId: 'c', name: 'terminal', content: 'done' }

function entries(...messages: readonly (readonly [string | null, ChatMessage, 'summary'?])[]): TranscriptEntry[] {
  return messages.map(([turnId, message, summary], ord) => {
    return { ord, turnId, message, ...(summary === undefined ? {} : { isSummary: true as const }) }
  })
}

test('an exchange is a message with everything that followed it, also with what joined its turn', () => {
  const { exchanges, followsSummary } = listExchanges(
    entries(
      ['a', user('one')],
      ['a', assistant('')],
      ['a', result],
      ['a', user('and this')],
      ['a', assistant('first answer')],
      ['b', user('two')],
      ['b', assistant('second answer')],
    ),
  )
  assert.deepEqual(exchanges, [
    { ord: 0, turnId: 'a', text: 'one', usesTools: true },
    { ord: 5, turnId: 'b', text: 'two', usesTools: false },
  ])
  assert.equal(followsSummary, false)
})

test('messages without a turn, which a client sent along, are exchanges of their own', () => {
  const { exchanges } = listExchanges(entries([null, user('x')], [null, assistant('y')], [null, user('z')]))
  assert.deepEqual(
    exchanges.map(({ text }) => text),
    ['x', 'z'],
  )
})

test('nothing before the newest summary can be taken back', () => {
  const { exchanges, followsSummary } = listExchanges(
    entries(['a', user('one')], ['a', assistant('first')], [null, user('a summary'), 'summary'], ['d', user('four')]),
  )
  assert.deepEqual(
    exchanges.map(({ text }) => text),
    ['four'],
  )
  assert.equal(followsSummary, true)
  assert.deepEqual(listExchanges([]), { exchanges: [], followsSummary: false })
})
