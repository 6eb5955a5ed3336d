import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  createSessionSearchTool,
  type RecalledMessage,
  type RecallHit,
  type RecallRequest,
  type RecallResult,
  type SessionRecall,
} from '../../../src/agent/tools/session-search.ts'
import { createWorkbench } from './workbench.ts'

const message = (id: number, content: string): RecalledMessage => ({
  id,
  role: id % 2 === 0 ? 'assistant' : 'user',
  content,
  length: content.length,
  at: Date.UTC(2026, 10, 23, 14, id),
})
const session = {
  session: 's',
  title: 'Gar[den',
  source: 'fake',
  startedAt: 0,
  lastActive: 60_000,
  messages: 30,
  preview: 'hi',
}

function hit(content: string): RecallHit {
  const rows = Array.from({ length: 11 }, (_, at) => message(at + 10, content))
  return {
    ...session,
    root: 'first',
    role: 'user',
    hit: 15,
    snippet: 'the «tulips»',
    view: { rows, before: 5, after: 5 },
    start: [message(1, content)],
    end: [message(30, content)],
  }
}

const tool = createSessionSearchTool({})

/** Runs the tool against a result, and returns what was asked. */
async function search(args: Readonly<Record<string, unknown>>, result: RecallResult) {
  const asked: RecallRequest[] = []
  const recall: SessionRecall = async (request) => {
    asked.push(request)
    return result
  }
  await using bench = await createWorkbench({ services: { recallOf: () => recall } })
  return { found: await bench.run('session_search', args), asked: asked[0] }
}

test('name, description and schema take at most 380 bytes of every request', () => {
  const { name, description, jsonSchema: parameters } = tool
  const size = Buffer.byteLength(JSON.stringify({ name, description, parameters }))
  assert.ok(size <= 380, `${size} bytes`)
})

test('a hit has the shape of Hermes: its session, the ends of it, and the messages around the match', async () => {
  const { found, asked } = await search(
    { query: 'tulips' },
    { kind: 'discover', results: [hit('text')], isPartial: false },
  )
  assert.deepEqual(asked, { kind: 'discover', query: 'tulips', roles: 'user,assistant', sort: 'relevance', limit: 3 })
  const { results, ...rest } = found
  assert.deepEqual({ ...rest, origin: '' }, { success: true, mode: 'discover', origin: '', query: 'tulips', count: 1 })
  assert.ok(Array.isArray(results))
  const { messages, ...one } = results[0]
  const at = (id: number, role: string) => ({
    id,
    role,
    content: 'text',
    timestamp: `2026-11-23T14:${id < 10 ? '0' : ''}${id}Z`,
  })
  assert.deepEqual(one, {
    session_id: 's',
    when: '1970-01-01T00:00Z',
    source: 'fake',
    title: 'Gar den',
    parent_session_id: 'first',
    matched_role: 'user',
    match_message_id: 15,
    snippet: 'the «tulips»',
    bookend_start: [at(1, 'user')],
    bookend_end: [at(30, 'assistant')],
    messages_before: 5,
    messages_after: 5,
  })
  assert.equal(messages.length, 11)
  assert.deepEqual(messages[5], { ...at(15, 'user'), anchor: true })
})

test('the result is bounded and stays valid JSON, however long the messages are', async () => {
  for (const size of [200, 2_000, 8_000]) {
    const results = Array.from({ length: 10 }, () => hit('"\n'.repeat(size / 2)))
    const { found } = await search({ query: 'x', limit: 99 }, { kind: 'discover', results, isPartial: false })
    assert.ok(JSON.stringify(found).length <= 24_000, `${size}: ${JSON.stringify(found).length}`)
    assert.ok(Array.isArray(found['results']) && found['results'].length === 10)
  }
})

test('numbers and roles are limited to what makes sense', async () => {
  const none: RecallResult = { kind: 'discover', results: [], isPartial: true }
  const wanted = { query: 'x', limit: 1_000, role_filter: 'TOOL, system', sort: 'oldest' }
  const { found, asked } = await search(wanted, none)
  assert.deepEqual(asked, { kind: 'discover', query: 'x', roles: 'tool', sort: 'oldest', limit: 10 })
  assert.equal(found['count'], 0)
  assert.equal(typeof found['partial'], 'string', 'the model learns that not all was searched')
  const { asked: listed } = await search({ limit: -3 }, { kind: 'browse', sessions: [session] })
  assert.deepEqual(listed, { kind: 'browse', limit: 1 })
  const absent = await search({ session_id: 's', around_message_id: 7, window: 99 }, { kind: 'absent' })
  assert.deepEqual(absent.asked, { kind: 'read', session: 's', around: 7, window: 20 })
  assert.equal(absent.found['code'], 'not_found')
})

test('without a store the tool says that it cannot search', async () => {
  await using bench = await createWorkbench()
  assert.equal((await bench.run('session_search', { query: 'x' }))['code'], 'unavailable')
})
