/**
 * What the dashboard of the page reads and does: `/api/now`, `/api/queue`, `/api/turns/stop` and `/api/changes`.
 */
import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
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

test('people are listed with their roles: those who are named, and those who wrote', async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      roles: { owners: ['fake:ada'], members: ['fake:ben'] },
      platforms: { fake: { allow_from: ['ada', 'ben', '*'] } },
    },
  })
  for (const user of ['ada', 'carl', 'dora']) {
    await gateway.say(`I am ${user}`, { user, chat: user })
    await gateway.waitForReply(user, user)
  }
  const rolesOf = (answer: unknown) =>
    listOf(answer, 'people').map(
      (person) => `${at(person, 'user_id')} ${at(person, 'role')} ${at(person, 'is_allowed')}`,
    )
  const named = rolesOf(await read(gateway, '/api/people'))
  assert.deepEqual(
    named.filter((person) => !person.includes('*')),
    ['ada owner true', 'ben member true'],
  )
  assert.ok(named.some((person) => person.startsWith('* ')))
  const first = await read(gateway, '/api/people?of=seen&limit=2')
  const second = await read(gateway, `/api/people?of=seen&limit=2&cursor=${at(first, 'next_cursor')}`)
  assert.deepEqual([...rolesOf(first), ...rolesOf(second)], ['dora guest true', 'carl guest true', 'ada owner true'])
  assert.equal(at(second, 'next_cursor'), null)
})

test('tokens and money are summed by day, for each model, platform and person', async (t) => {
  const gateway = await startTestGateway(t, {
    model: () => ({ text: 'an answer', usage: { input: 100, output: 20, cost: 0.5 } }),
  })
  for (const user of ['ada', 'ben']) {
    await gateway.say('hello', { user, chat: user })
    await gateway.waitForReply('an answer', user)
  }
  for (const [by, names] of [
    ['model', ['test-model']],
    ['platform', ['fake']],
    ['person', ['fake:ada', 'fake:ben']],
  ] as const) {
    const spend = await read(gateway, `/api/spend?by=${by}&days=3`)
    assert.equal(listOf(spend, 'days').length, 3)
    assert.deepEqual(
      listOf(spend, 'entries')
        .map((entry) => at(entry, 'name'))
        .toSorted(),
      names,
    )
    assert.deepEqual(at(spend, 'total'), { input_tokens: 200, output_tokens: 40, cost: 1 })
    const days = listOf(spend, 'entries').map((entry) => listOf(entry, 'tokens_by_day').at(-1))
    assert.equal(
      days.reduce((sum: number, tokens) => sum + Number(tokens), 0),
      240,
    )
  }
})

test('the log is read in pages, by level, event and session, without the secrets of the gateway', async (t) => {
  const gateway = await startTestGateway(t, { config: { api_key: canary } })
  await gateway.say('hello', { chat: 'a' })
  await gateway.waitForReply('hello', 'a')
  const lines = Array.from({ length: 10_000 }, (_, number) =>
    JSON.stringify({
      level: number === 5 ? 'error' : 'warn',
      time: new Date().toISOString(),
      event: 'test.line',
      number,
      key: canary,
      msg: `${canary} ${number}`,
    }),
  )
  appendFileSync(join(gateway.home.logs, 'gateway.log'), `${lines.join('\n')}\n`)
  const pageOf = (query: string) => read(gateway, `/api/logs?${query}`)
  const first = await pageOf('event=test.*&limit=150')
  const second = await pageOf(`event=test.*&limit=150&cursor=${at(first, 'next_cursor')}`)
  const numbers = [first, second].flatMap((page) =>
    listOf(page, 'lines').map((line) => JSON.parse(String(at(line, 'fields'))).number),
  )
  assert.deepEqual(
    numbers,
    Array.from({ length: 300 }, (_, index) => 9_999 - index),
  )
  assert.ok(!JSON.stringify([first, second]).includes(canary))
  const error = listOf(await pageOf('event=test.line&level=error'), 'lines')
  assert.deepEqual(
    error.map((line) => at(line, 'level')),
    ['error'],
  )
  const [session] = listOf(await read(gateway, '/api/sessions'), 'sessions')
  const ofSession = listOf(await pageOf(`session=${at(session, 'id')}`), 'lines')
  assert.ok(ofSession.length > 0 && ofSession.every((line) => at(line, 'event') !== 'test.line'))
})

test('strangers, forged origins and wrong input are refused', async (t) => {
  const gateway = await startTestGateway(t)
  await refuseStrangers(gateway, [
    ['GET', '/api/now'],
    ['GET', '/api/queue'],
    ['GET', '/api/changes'],
    ['POST', '/api/turns/stop', { turn_id: 'x' }],
    ['GET', '/api/people'],
    ['GET', '/api/spend'],
    ['GET', '/api/logs'],
  ])
  const wrong = [
    'people?of=all',
    'people?limit=0',
    'people?of=seen&cursor=x',
    'spend?by=colour',
    'spend?days=0',
    'spend?days=x',
  ]
  for (const path of [...wrong, 'logs?level=loud', 'logs?cursor=x', 'logs?event=', 'logs?colour=red'])
    assert.equal((await gateway.http(`/api/${path}`)).status, 400, path)
  for (const path of ['of=turns', 'state=done', 'limit=0', 'limit=201', 'cursor=x', 'colour=red'])
    assert.equal((await gateway.http(`/api/queue?${path}`)).status, 400, path)
  for (const body of [{}, { turn_id: 5 }, { turn_id: '' }, { turn_id: 'x', more: 1 }])
    assert.equal((await gateway.post('/api/turns/stop', body)).status, 400, JSON.stringify(body))
  assert.equal((await gateway.post('/api/turns/stop', { turn_id: 'x' })).status, 404)
})
