import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { type ChatMessage, noUsage } from '../../src/message/transcript.ts'
import { listSessions } from '../../src/sessions/session-list.ts'
import { sessionById, sessionByKey } from '../../src/sessions/session-queries.ts'
import {
  addSessionUsage,
  beginEpoch,
  type EpochOptions,
  findSessionState,
  startNewSession,
} from '../../src/sessions/session-state.ts'
import { appendMessage, freezePrompt, readFrozenPrompt, readTranscript } from '../../src/sessions/transcript.ts'
import { row } from '../../src/store/query.ts'
import { openStore } from '../kit/open-store.ts'

test('a transcript is read as it was written: calls, results and provider data', async (t) => {
  const { store } = openStore(t)
  const messages: ChatMessage[] = [
    { role: 'user', content: 'look' },
    {
      role: 'assistant',
      content: '',
      toolCalls: [{ id: 'c1', name: 'read_file', arguments: '{"path": not json' }],
      providerData: { apiMode: 'anthropic_messages', items: [{ type: 'thinking', signature: 'abc' }] },
    },
    { role: 'tool', toolCallId: 'c1', name: 'read_file', content: '{"error":"no"}' },
    { role: 'assistant', content: 'done' },
  ]
  for (const [ord, message] of messages.entries()) {
    await store.run(() => appendMessage({ sessionId: 's', turnId: 't', ord, message }, 1))
  }
  const lines = await store.run(() => readTranscript('s'))
  assert.deepEqual(
    lines,
    messages.map((message, ord) => ({ ord, turnId: 't', message })),
  )
  assert.deepEqual(await store.run(() => readTranscript('another')), [])
})

test('an ordinal of the transcript is used once', async (t) => {
  const { store } = openStore(t)
  const at = (content: string) =>
    appendMessage({ sessionId: 's', turnId: null, ord: 0, message: { role: 'user', content } }, 1)
  await store.run(() => at('first'))
  await assert.rejects(
    store.run(() => at('second')),
    (error) => isHermesError(error, 'store/failed'),
  )
  assert.equal((await store.run(() => readTranscript('s')))[0]?.message.content, 'first')
})

test('the first system prompt of a session and its list of tools are frozen', async (t) => {
  const { store } = openStore(t)
  assert.equal(await store.run(() => readFrozenPrompt('s')), undefined)
  await store.run(() => freezePrompt('s', { text: 'first', toolNames: ['todo'] }))
  await store.run(() => freezePrompt('s', { text: 'second', toolNames: [] }))
  assert.deepEqual(await store.run(() => readFrozenPrompt('s')), { text: 'first', toolNames: ['todo'] })
})

test('a reset ends the session and starts another one under the same key, with a link to its parent', async (t) => {
  const { store } = openStore(t)
  const visit: EpochOptions = { key: 'k', source: '{}', platform: 'web', userId: 'u', newSessionId: 'one', now: 10 }
  assert.deepEqual(await store.run(() => beginEpoch(visit)), { session_id: 'one', epoch: 1, fresh: 1 })
  assert.deepEqual(await store.run(() => beginEpoch(visit)), { session_id: 'one', epoch: 2, fresh: 0 })
  await store.run(() => addSessionUsage('one', { ...noUsage, inputTokens: 100, outputTokens: 7, cost: 0.5 }, 11))
  await store.run(() => addSessionUsage('one', { ...noUsage, inputTokens: 1, outputTokens: 1 }, 12))
  assert.deepEqual(await store.run(() => startNewSession({ ...visit, newSessionId: 'two', now: 20 }, 'Taxes')), {
    ended: 'one',
  })
  assert.deepEqual({ ...(await store.run(() => findSessionState('k'))) }, { session_id: 'two', epoch: 3, fresh: 1 })
  const first = await store.run(() => row(sessionById, { id: 'one' }))
  assert.deepEqual(
    [first?.ended_at, first?.end_reason, first?.input_tokens, first?.output_tokens],
    [20, 'reset', 101, 8],
  )
  const newest = await store.run(() => row(sessionByKey, { key: 'k' }))
  assert.deepEqual([newest?.id, newest?.title, newest?.parent_id], ['two', 'Taxes', 'one'])
  const listed = await store.run(() => listSessions({}, undefined, 10))
  assert.deepEqual(
    listed.map(({ id, isCurrent }) => [id, isCurrent]),
    [
      ['two', true],
      ['one', false],
    ],
  )
})

test('a conversation can be reset before its first message', async (t) => {
  const { store } = openStore(t)
  const visit: EpochOptions = { key: 'k', source: '{}', platform: 'web', userId: 'u', newSessionId: 'one', now: 10 }
  assert.deepEqual(await store.run(() => startNewSession(visit, '')), { ended: null })
  assert.deepEqual(await store.run(() => beginEpoch({ ...visit, newSessionId: 'unused' })), {
    session_id: 'one',
    epoch: 1,
    fresh: 1,
  })
})
