/**
 * What the dashboard of the page reads and does: `/api/now`, `/api/queue`, `/api/turns/stop` and `/api/changes`.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { withTimeout } from '../../src/lib/timers.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'
import { at, hasResult, refuseStrangers, terminalCall } from './support.ts'

async function read(gateway: TestGateway, path: string): Promise<unknown> {
  const answer = await gateway.http(path)
  assert.equal(answer.status, 200, path)
  return await answer.json()
}

function listOf(answer: unknown, key: string): readonly unknown[] {
  const entries = at(answer, key)
  assert.ok(Array.isArray(entries), key)
  return entries
}

/** Follows the stream of changes, which has said that it is ready. */
async function follow(t: TestContext, gateway: TestGateway) {
  const ended = new AbortController()
  t.after(() => ended.abort())
  const { body } = await gateway.http('/api/changes', { signal: ended.signal })
  assert.ok(body !== null)
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  const next = async (): Promise<unknown[]> => {
    const read = await withTimeout(reader.read(), waitLimitMs())
    assert.ok(read.done && read.value.value !== undefined, 'no line came in time')
    return read.value.value.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]))
  }
  assert.deepEqual(await next(), [{ type: 'ready' }])
  const named = new Set<unknown>()
  return {
    /** Resolves when this topic was named since the last call. */
    async until(topic: string) {
      while (!named.delete(topic))
        for (const line of await next()) for (const name of Object(line).topics ?? []) named.add(name)
    },
  }
}

test('a turn is seen while it runs, with its tool, and is stopped', async (t) => {
  const gateway = await startTestGateway(t, {
    model: (request) => (hasResult(request) ? { text: 'done' } : terminalCall('sleep 100')),
  })
  const changes = await follow(t, gateway)
  const turn = async () => listOf(await read(gateway, '/api/now'), 'turns')[0]
  await gateway.say('wait for me', { chat: 'a' })
  do await changes.until('turns')
  while (at(await turn(), 'tool') !== 'terminal')
  const running = await turn()
  assert.deepEqual(
    ['platform', 'chat_id', 'state', 'is_stopping'].map((key) => at(running, key)),
    ['fake', 'a', 'running', false],
  )
  const stop = () => gateway.post('/api/turns/stop', { turn_id: at(running, 'id') })
  assert.equal((await stop()).status, 200)
  await gateway.waitForEvent('agent:end')
  while ((await turn()) !== undefined) await changes.until('turns')
  assert.equal((await stop()).status, 404)
})

test('a change by one client is told to the others', async (t) => {
  const gateway = await startTestGateway(t)
  const changes = await follow(t, gateway)
  const other = await follow(t, gateway)
  await gateway.post('/api/pause', { reason: 'maintenance' })
  await Promise.all([changes.until('pause'), other.until('pause')])
  await gateway.post('/api/pause', { off: true })
  await gateway.say('hello')
  await Promise.all([changes.until('inbox'), other.until('inbox')])
  gateway.configure({ max_iterations: 7 })
  await changes.until('config')
  await changes.until('logs')
})

const letters = 120
const canary = 'sk-canary-0123456789abcdefghij'

test('ten thousand dead letters are read in pages, without the secrets of the gateway', async (t) => {
  const gateway = await startTestGateway(t, { config: { api_key: canary } })
  await gateway.say('one')
  await gateway.waitForReply('one')
  const db = new DatabaseSync(gateway.home.databaseFile)
  const now = Date.now()
  const insert =
    db.prepare(`insert into outbox (key, platform, account, chat_id, thread_id, kind, op, text, state, due_at, error,
    created_at, updated_at) values (?, 'fake', 'default', 'c', '', 'reply', 'send', ?, 'dead', 0, ?, ?, ?)`)
  db.exec('begin')
  for (let number = 0; number < 10_000; number++)
    insert.run(`letter ${number}`, `letter ${number} ${canary}`, `refused: ${canary}`, now, now)
  db.exec(`insert into inbox (session_key, lane, kind, platform, account, chat_id, payload, state, available_at, accepted_at, reason)
    select session_key, lane, kind, platform, account, chat_id, payload, 'dead', 0, accepted_at, 'key ${canary}' from inbox`)
  db.exec('commit')
  db.close()
  const { replies, messages } = Object(await read(gateway, '/api/now'))
  assert.deepEqual([replies.dead, messages.dead], [10_000, 1])
  const seen = new Set<unknown>()
  let cursor: unknown = ''
  for (let page = 0; page < 3; page++) {
    const answer = await read(
      gateway,
      `/api/queue?of=replies&limit=${letters}${cursor === '' ? '' : `&cursor=${cursor}`}`,
    )
    for (const entry of listOf(answer, 'entries')) seen.add(at(entry, 'id'))
    assert.ok(!JSON.stringify(answer).includes(canary))
    cursor = at(answer, 'next_cursor')
  }
  assert.equal(seen.size, 3 * letters)
  const messagesPage = await read(gateway, '/api/queue')
  assert.equal(at(messagesPage, 'next_cursor'), null)
  assert.equal(at(messagesPage, 'entries', 0, 'text'), 'one')
  assert.ok(!JSON.stringify(messagesPage).includes(canary))
})

test('strangers, forged origins and wrong input are refused', async (t) => {
  const gateway = await startTestGateway(t)
  await refuseStrangers(gateway, [
    ['GET', '/api/now'],
    ['GET', '/api/queue'],
    ['GET', '/api/changes'],
    ['POST', '/api/turns/stop', { turn_id: 'x' }],
  ])
  for (const path of ['of=turns', 'state=done', 'limit=0', 'limit=201', 'cursor=x', 'colour=red'])
    assert.equal((await gateway.http(`/api/queue?${path}`)).status, 400, path)
  for (const body of [{}, { turn_id: 5 }, { turn_id: '' }, { turn_id: 'x', more: 1 }])
    assert.equal((await gateway.post('/api/turns/stop', body)).status, 400, JSON.stringify(body))
  assert.equal((await gateway.post('/api/turns/stop', { turn_id: 'x' })).status, 404)
})
