/**
 * The JSON API refuses what it cannot answer, and pages stay right while the gateway works.
 */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { at, hasResult, runCommand, terminalCall } from './support.ts'

async function get(gateway: TestGateway, path: string): Promise<{ status: number; body: unknown }> {
  const answer = await gateway.http(path)
  return { status: answer.status, body: await answer.json() }
}

async function list(gateway: TestGateway, path: string, key: string): Promise<unknown[]> {
  const { status, body } = await get(gateway, path)
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`)
  const found = at(body, key)
  assert.ok(Array.isArray(found))
  return found
}

async function talk(gateway: TestGateway, text: string, chat: string): Promise<void> {
  await gateway.say(text, { chat })
  await gateway.waitForReply(text, chat)
}

test('wrong parameters, cursors and ids are refused with what is wrong', async (t) => {
  const gateway = await startTestGateway(t)
  await talk(gateway, 'one', 'a')
  await talk(gateway, 'two', 'b')
  const [session] = await list(gateway, '/api/sessions', 'sessions')
  const id = String(at(session, 'id'))
  const { body } = await get(gateway, '/api/sessions?limit=1')
  const cursor = String(at(body, 'next_cursor'))
  const forged = Buffer.from(JSON.stringify(['x', 1, 'y'])).toString('base64url')

  const refused: readonly (readonly [path: string, status: number, code: string])[] = [
    ...['0', '201', 'abc', '1.5', '', '1e9'].map(
      (limit) => [`/api/sessions?limit=${limit}`, 400, 'http/bad-request'] as const,
    ),
    ['/api/sessions?colour=red', 400, 'http/bad-request'],
    ['/api/sessions?current=maybe', 400, 'http/bad-request'],
    ['/api/sessions?cursor=nonsense', 400, 'http/bad-request'],
    [`/api/sessions?cursor=${forged}`, 400, 'http/bad-request'],
    [`/api/sessions?platform=fake&cursor=${cursor}`, 400, 'http/bad-request'],
    [`/api/sessions/${id}/messages?cursor=${cursor}`, 400, 'http/bad-request'],
    [`/api/channels?cursor=${cursor}`, 400, 'http/bad-request'],
    [`/api/sessions/${id}/messages?roles=system`, 400, 'http/bad-request'],
    [`/api/sessions/${id}/messages?order=random`, 400, 'http/bad-request'],
    ['/api/sessions/%zz', 400, 'http/bad-request'],
    [`/api/sessions/${encodeURIComponent('no/such:session')}`, 404, 'sessions/not-found'],
    [`/api/sessions/${encodeURIComponent('no/such:session')}/messages`, 404, 'sessions/not-found'],
    [`/api/sessions/${id}/messages/999999`, 404, 'sessions/not-found'],
    [`/api/sessions/${id}/messages/first`, 404, 'sessions/not-found'],
    [`/api/sessions/${id}/colours`, 404, 'http/not-found'],
    [`/api/sessions/${id}/messages/1/2`, 404, 'http/not-found'],
  ]
  for (const [path, status, code] of refused) {
    const found = await get(gateway, path)
    assert.deepEqual([found.status, at(found.body, 'error', 'code')], [status, code], path)
  }
  const renamed = await gateway.http(`/api/sessions/${id}`, { method: 'PATCH', body: '{"title": 5}' })
  assert.equal(renamed.status, 400)
  assert.match(String(at(await renamed.json(), 'error', 'message')), /title/)
  for (const body of ['{}', '{"pinned": "yes"}'])
    assert.equal((await gateway.http(`/api/sessions/${id}`, { method: 'PATCH', body })).status, 400, body)
  // The page opens no such chat for writing.
  const elsewhere = JSON.stringify({ into: { platform: 'web', chat_id: 'a.b' } })
  const refusedFork = await gateway.http(`/api/sessions/${id}/fork`, { method: 'POST', body: elsewhere })
  assert.equal(refusedFork.status, 400)
  assert.match(String(at(await refusedFork.json(), 'error', 'message')), /chat_id: expected 1 to 64/)
})

test('no words of a search are a syntax error', async (t) => {
  const gateway = await startTestGateway(t)
  await talk(gateway, 'plain words of 東京 and C++', 'a')
  const found = async (search: string) =>
    (await list(gateway, `/api/sessions?search=${encodeURIComponent(search)}`, 'sessions')).length
  for (const search of ['plain', '"plain words"', 'plain OR missing', 'wor*', 'plain NOT missing', '東京', 'C++'])
    assert.equal(await found(search), 1, search)
  for (const search of [
    '"',
    '"" ""',
    'missing',
    'NOT',
    'OR',
    'NEAR(',
    'content:plain',
    ')(',
    '*',
    '\0',
    'plain NOT words',
  ])
    assert.equal(await found(search), 0, search)
})

test('pages neither shift nor repeat while conversations begin and end', async (t) => {
  const gateway = await startTestGateway(t)
  for (const chat of ['a', 'b', 'c']) await talk(gateway, `in ${chat}`, chat)
  const seen: string[] = []
  let cursor: unknown = ''
  for (let page = 0; cursor !== null; page++) {
    const { body } = await get(gateway, `/api/sessions?limit=1${page === 0 ? '' : `&cursor=${cursor}`}`)
    seen.push(String(at(body, 'sessions', 0, 'chat_id')))
    cursor = at(body, 'next_cursor')
    if (page === 0) await talk(gateway, 'in d', 'd')
  }
  assert.deepEqual(seen, ['c', 'b', 'a'])

  const [current] = await list(gateway, '/api/sessions?chat=a', 'sessions')
  const path = `/api/sessions/${at(current, 'id')}`
  const first = await get(gateway, `${path}/messages?limit=1`)
  await runCommand(gateway, '/new', { chat: 'a' })
  const rest = await list(gateway, `${path}/messages?limit=1&cursor=${at(first.body, 'next_cursor')}`, 'messages')
  assert.equal(at(rest[0], 'text'), 'in a')
  assert.equal(at((await get(gateway, path)).body, 'session', 'is_current'), false)
  assert.equal((await list(gateway, '/api/sessions?chat=a&current=false', 'sessions')).length, 1)
})

test('a session is not removed while its turn runs, and its conversation then begins a new one', async (t) => {
  const answer = Promise.withResolvers<void>()
  const gateway = await startTestGateway(t, {
    replies: [{ text: 'slow', gate: () => answer.promise }],
  })
  await gateway.say('remember the word kiwi')
  await gateway.modelRequest(0)
  const [session] = await list(gateway, '/api/sessions', 'sessions')
  const path = `/api/sessions/${at(session, 'id')}`
  const busy = await gateway.http(path, { method: 'DELETE' })
  assert.deepEqual([busy.status, at(await busy.json(), 'error', 'code')], [409, 'sessions/busy'])
  answer.resolve()
  await gateway.waitForReply('slow')

  assert.equal((await gateway.http(path, { method: 'DELETE' })).status, 200)
  assert.equal((await gateway.http(path, { method: 'DELETE' })).status, 404)
  await gateway.say('which word?')
  const request = await gateway.modelRequest(1)
  assert.doesNotMatch(JSON.stringify(request.body), /kiwi/)
  assert.deepEqual(await list(gateway, '/api/sessions?search=kiwi', 'sessions'), [])
})

test('messages show tool calls in short, files, long texts in part, and nothing that was taken back', async (t) => {
  let chart = ''
  const long = 'x'.repeat(20_000)
  const gateway = await startTestGateway(t, {
    capabilities: ['files'],
    model: (request) => (hasResult(request) ? { text: `See here.\n\nMEDIA:${chart}` } : terminalCall('echo hi')),
    prepare(home) {
      mkdirSync(join(home.root, 'work'), { recursive: true })
      chart = join(home.root, 'work', 'chart.csv')
      writeFileSync(chart, 'a,b\n')
    },
  })
  await gateway.say(long)
  await gateway.waitForReply('See here.')
  const [session] = await list(gateway, '/api/sessions', 'sessions')
  const path = `/api/sessions/${at(session, 'id')}/messages`
  await gateway.until(({ file }) => file !== undefined)
  const messages = await list(gateway, `${path}?order=oldest`, 'messages')
  assert.deepEqual(
    messages.map((message) => at(message, 'role')),
    ['user', 'assistant', 'tool', 'assistant'],
  )
  assert.deepEqual([at(messages[0], 'truncated'), String(at(messages[0], 'text')).length], [true, 16_000])
  const whole = await get(gateway, `${path}/${at(messages[0], 'id')}`)
  assert.equal(at(whole.body, 'message', 'text'), long)
  assert.deepEqual(
    ['name', 'state'].map((key) => at(messages[1], 'tool_calls', 0, key)),
    ['terminal', 'done'],
  )
  assert.equal(at(messages[2], 'tool_call_id'), at(messages[1], 'tool_calls', 0, 'id'))
  assert.equal(at(messages[3], 'attachments', 0, 'file_name'), 'chart.csv')
  assert.equal((await list(gateway, `${path}?roles=tool`, 'messages')).length, 1)

  await runCommand(gateway, '/undo')
  assert.deepEqual(await list(gateway, path, 'messages'), [])
  const withdrawn = await list(gateway, `${path}?all=true`, 'messages')
  assert.deepEqual(new Set(withdrawn.map((message) => at(message, 'status'))), new Set(['withdrawn']))
})

test('no text of the API carries out anything on a terminal, or holds a secret of the gateway', async (t) => {
  const key = 'sk-1234567890abcdefghijklmnop'
  const gateway = await startTestGateway(t, {
    replies: [{ text: `a \u001b[31mred\u001b[0m \u202eword and ${key}` }],
    config: { api_key: key },
  })
  await gateway.say('show me')
  await gateway.waitForReply(/word/)
  const [session] = await list(gateway, '/api/sessions?search=and', 'sessions')
  const path = `/api/sessions/${at(session, 'id')}`
  for (const text of [
    String(at(session, 'match', 'excerpt')),
    String(at((await list(gateway, `${path}/messages`, 'messages'))[0], 'text')),
  ]) {
    assert.match(text, /red/)
    assert.deepEqual(
      ['\u001b', '\u202e', key].filter((one) => text.includes(one)),
      [],
    )
  }
  const trajectory = await gateway.http(`${path}/trajectory`)
  assert.equal((await trajectory.text()).includes(key), false)
})
