import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { ChatMessage, Usage } from '../../src/message/transcript.ts'
import { withdrawFrom } from '../../src/sessions/conversation-edits.ts'
import { messagesOfSession, sessionById } from '../../src/sessions/session-queries.ts'
import { rotateSession } from '../../src/sessions/session-rotation.ts'
import { beginEpoch, type EpochOptions } from '../../src/sessions/session-state.ts'
import { readSaidMessages } from '../../src/sessions/trajectory-messages.ts'
import { appendMessage, readTranscript, supersedeTurn, usageOfTurn } from '../../src/sessions/transcript.ts'
import { applyCompression, type CompressionEdits } from '../../src/sessions/transcript-compression.ts'
import { beginTurn } from '../../src/sessions/turns.ts'
import { row, rows } from '../../src/store/query.ts'
import { openReader } from '../../src/store/sqlite/reader.ts'
import type { Store } from '../../src/store/store.ts'
import { openStore } from '../kit/open-store.ts'

const visit: EpochOptions = { key: 'k', source: '{}', platform: 'web', userId: 'u', newSessionId: 's', now: 10 }
const cost: Usage = { inputTokens: 100, outputTokens: 7, cachedInputTokens: 0, cacheWriteTokens: 0 }
const call = { id: 'c', name: 'read_file', arguments: '{}' }
const conversation: readonly ChatMessage[] = [
  { role: 'user', content: 'the beginning' },
  { role: 'assistant', content: 'yes' },
  { role: 'user', content: 'the middle about roses' },
  { role: 'assistant', content: 'roses are red' },
  { role: 'user', content: 'the end' },
  { role: 'assistant', content: '', toolCalls: [call] },
  { role: 'tool', toolCallId: 'c', name: 'read_file', content: 'a long result' },
]
const summary: ChatMessage = { role: 'user', content: 'the record' }
const shorter: ChatMessage = { role: 'tool', toolCallId: 'c', name: 'read_file', content: 'cleared' }
const both: CompressionEdits = {
  clearedResults: [{ at: 6, message: shorter }],
  summary: { from: 2, to: 4, message: summary },
  usage: cost,
}

/** The conversation above. Messages after 'the end' belong to the running turn. */
async function written(store: Store) {
  const { epoch } = await store.run(() => beginEpoch(visit))
  for (const [ord, message] of conversation.entries()) {
    const turnId = ord < 4 ? 'old' : 'running'
    const usage = message.role === 'assistant' ? { usage: cost } : {}
    await store.run(() => appendMessage({ sessionId: 's', turnId, ord, message, ...usage }, 1))
  }
  return { fence: { sessionKey: 'k', epoch }, lines: await store.run(() => readTranscript('s')) }
}

test('a compressed transcript contains the shorter messages at their ordinals, and the originals stay stored', async (t) => {
  const { store, path } = openStore(t)
  const { fence, lines } = await written(store)
  const done = await store.run(() => applyCompression(fence, 's', lines, both, 20))
  assert.equal(done.count, 1)
  assert.deepEqual(done.lines, [
    { ord: 0, turnId: 'old', message: conversation[0] },
    { ord: 1, turnId: 'old', message: conversation[1] },
    { ord: 3, turnId: null, message: summary, isSummary: true },
    { ord: 4, turnId: 'running', message: conversation[4] },
    { ord: 5, turnId: 'running', message: conversation[5] },
    { ord: 6, turnId: 'running', message: shorter },
  ])
  assert.deepEqual(await store.run(() => readTranscript('s')), done.lines)

  const shown = await store.run(() => rows(messagesOfSession, { session_id: 's' }))
  assert.deepEqual(
    shown.map(({ content, superseded, is_summary }) => [content, superseded, is_summary]),
    [
      ['the beginning', 0, 0],
      ['yes', 0, 0],
      ['the middle about roses', 1, 0],
      ['roses are red', 1, 0],
      ['the record', 0, 1],
      ['the end', 0, 0],
      ['', 0, 0],
      ['a long result', 1, 0],
      ['cleared', 0, 0],
    ],
  )
  const reader = openReader(path)
  t.after(() => reader.close())
  assert.equal(reader.search('middle roses', 5).length, 1, 'what was summed up is still found')
})

test('the tokens of a summary count once for the session', async (t) => {
  const { store } = openStore(t)
  const { fence, lines } = await written(store)
  await store.run(() => applyCompression(fence, 's', lines, both, 20))
  const session = await store.run(() => row(sessionById, { id: 's' }))
  assert.deepEqual([session?.input_tokens, session?.output_tokens], [100, 7])
  assert.deepEqual(await store.run(() => usageOfTurn('s', 'running', 4)), cost)
})

test('compressions are counted, and the next one supersedes the previous summary', async (t) => {
  const { store } = openStore(t)
  const { fence, lines } = await written(store)
  const first = await store.run(() => applyCompression(fence, 's', lines, both, 20))
  const again: CompressionEdits = {
    clearedResults: [{ at: 5, message: { ...shorter, content: 'gone' } }],
    summary: { from: 2, to: 4, message: { role: 'user', content: 'the second record' } },
    usage: cost,
  }
  const second = await store.run(() => applyCompression(fence, 's', first.lines, again, 30))
  assert.equal(second.count, 2)
  assert.deepEqual(
    second.lines.map(({ ord, message }) => [ord, message.content]),
    [
      [0, 'the beginning'],
      [1, 'yes'],
      [4, 'the second record'],
      [5, ''],
      [6, 'gone'],
    ],
  )
})

test('a turn whose epoch was revoked changes nothing', async (t) => {
  const { store } = openStore(t)
  const { fence, lines } = await written(store)
  await store.run(() => beginEpoch(visit))
  await assert.rejects(
    store.run(() => applyCompression(fence, 's', lines, both, 20)),
    (error) => isHermesError(error, 'store/fenced'),
  )
  assert.deepEqual(await store.run(() => readTranscript('s')), lines)
})

test('a compression that fails is rolled back completely', async (t) => {
  const { store } = openStore(t)
  const { fence, lines } = await written(store)
  const impossible: CompressionEdits = { ...both, summary: { from: 2, to: 99, message: summary } }
  await assert.rejects(store.run(() => applyCompression(fence, 's', lines, impossible, 20)))
  assert.deepEqual(await store.run(() => readTranscript('s')), lines)
  assert.equal((await store.run(() => row(sessionById, { id: 's' })))?.input_tokens, 0)
})

test('superseding a turn after a compression removes its messages and keeps the summary', async (t) => {
  const { store } = openStore(t)
  const { fence, lines } = await written(store)
  await store.run(() => applyCompression(fence, 's', lines, both, 20))
  await store.run(() => supersedeTurn('s', 'running'))
  const left = await store.run(() => readTranscript('s'))
  assert.deepEqual(
    left.map(({ message }) => message.content),
    ['the beginning', 'yes', 'the record'],
  )
})

test('a trajectory has each message once, in place and over sessions, and nothing that was taken back', async (t) => {
  const said = async (store: Store, session: string) =>
    (await store.run(() => readSaidMessages(session)))?.map(({ content }) => content)
  const whole = conversation.map(({ content }) => content)
  const inPlace = openStore(t).store
  const one = await written(inPlace)
  await inPlace.run(() => applyCompression(one.fence, 's', one.lines, both, 20))
  assert.deepEqual(await said(inPlace, 's'), whole)

  const { store } = openStore(t)
  const { fence, lines } = await written(store)
  await store.run(() => beginTurn({ id: 'running', seq: 1, ...turn, ...fence }, 1))
  await store.run(() => rotateSession({ fence, from: 's', to: 'next', turnId: 'running' }, lines, both, 20))
  assert.deepEqual(await said(store, 'next'), whole)
  await store.run(() => withdrawFrom('next', 1))
  assert.deepEqual(await said(store, 'next'), ['the beginning', 'the middle about roses', 'roses are red'])
})
const turn = { sessionId: 's', origin: '{}', authority: '{}', route: '{}' }
