/**
 * The JSON API shows and changes conversations, and answers questions of every chat.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at } from './support.ts'

test('the sessions of all chats are listed, read, renamed, copied and removed', async (t) => {
  const gateway = await startTestGateway(t)
  await gateway.say('the first "word" of Ada', { chat: 'a/b:c' })
  await gateway.waitForReply(/word/, 'a/b:c')
  await gateway.say('another chat', { chat: 'two' })
  await gateway.waitForReply(/another/, 'two')
  const get = async (path: string) => {
    const response = await gateway.http(path)
    assert.equal(response.status, 200, `${path}: ${await response.clone().text()}`)
    return await response.json()
  }
  const first = await get('/api/sessions?limit=1')
  assert.equal(at(first, 'sessions', 0, 'chat_id'), 'two')
  assert.equal(at(first, 'sessions', 0, 'is_current'), true)
  const second = await get(`/api/sessions?limit=1&cursor=${at(first, 'next_cursor')}`)
  assert.equal(at(second, 'sessions', 0, 'chat_id'), 'a/b:c')
  assert.equal(at(second, 'next_cursor'), null)
  const byChat = await get(
    `/api/sessions?chat=${encodeURIComponent('a/b:c')}&search=${encodeURIComponent('"first word" OR "')}`,
  )
  assert.equal(at(byChat, 'sessions', 1), undefined)
  assert.equal(at(byChat, 'sessions', 0, 'match', 'excerpt'), 'You said: the «first "word»" of Ada')

  const id = String(at(second, 'sessions', 0, 'id'))
  const newest = await get(`/api/sessions/${id}/messages?limit=1`)
  assert.equal(at(newest, 'messages', 0, 'role'), 'assistant')
  const older = await get(`/api/sessions/${id}/messages?limit=1&cursor=${at(newest, 'next_cursor')}`)
  assert.equal(at(older, 'messages', 0, 'text'), 'the first "word" of Ada')
  const back = await get(`/api/sessions/${id}/messages?limit=1&cursor=${at(older, 'previous_cursor')}`)
  assert.deepEqual(at(back, 'messages'), at(newest, 'messages'))
  await gateway.say('and a second one', { chat: 'a/b:c' })
  await gateway.waitForReply(/second one/, 'a/b:c')
  const added = await get(`/api/sessions/${id}/messages?cursor=${at(newest, 'previous_cursor')}`)
  assert.deepEqual([at(added, 'messages', 1, 'text'), at(added, 'messages', 2)], ['and a second one', undefined])

  const change = async (method: string, path: string, body: unknown = {}) => {
    const response = await gateway.http(path, { method, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const renamed = await change('PATCH', `/api/sessions/${id}`, { title: ' Words\nof Ada ' })
  assert.deepEqual([renamed.status, at(renamed.body, 'session', 'title')], [200, 'Words of Ada'])
  const fork = await change('POST', `/api/sessions/${id}/fork`)
  assert.deepEqual(
    ['title', 'parent_id', 'message_count', 'is_current'].map((key) => at(fork.body, 'session', key)),
    ['Words of Ada (branch)', id, 4, false],
  )
  const into = (platform: string) => change('POST', `/api/sessions/${id}/fork`, { into: { platform, chat_id: 'here' } })
  const continued = await into('web')
  assert.deepEqual(
    ['parent_id', 'platform', 'chat_id', 'message_count', 'is_current'].map((key) =>
      at(continued.body, 'session', key),
    ),
    [id, 'web', 'here', 4, true],
  )
  assert.equal((await into('fake')).status, 404, 'a chat of other people is not changed')
  const pinned = await change('PATCH', `/api/sessions/${id}`, { pinned: true })
  assert.deepEqual(
    ['title', 'pinned'].map((key) => at(pinned.body, 'session', key)),
    ['Words of Ada', true],
  )
  const top = await get('/api/sessions?pinned=true')
  assert.deepEqual([at(top, 'sessions', 0, 'id'), at(top, 'sessions', 1)], [id, undefined])
  assert.equal(at(await get('/api/sessions?pinned=true&search=nothing'), 'sessions', 0), undefined)
  assert.equal((await change('DELETE', `/api/sessions/${id}`)).status, 200)
  const gone = await gateway.http(`/api/sessions/${id}`)
  assert.deepEqual([gone.status, at(await gone.json(), 'error', 'code')], [404, 'sessions/not-found'])
  const left = await get('/api/sessions?search=first')
  assert.deepEqual(
    [0, 1, 2].map((index) => at(left, 'sessions', index, 'id')).toSorted(),
    [at(fork.body, 'session', 'id'), at(continued.body, 'session', 'id'), undefined].toSorted(),
    'the copies are found, the original is gone',
  )

  const channels = await get('/api/channels?platform=fake')
  assert.deepEqual(
    [at(channels, 'channels', 0, 'target'), at(channels, 'channels', 1, 'chat_id')],
    ['fake:a/b:c', 'two'],
  )
})

test('chats that take only answers are no channels, and messages to them are refused', async (t) => {
  const gateway = await startTestGateway(t)
  const send = async (path: string, body: object) => {
    const response = await gateway.http(path, { method: 'POST', body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const messages = [{ role: 'user', content: 'hello' }]
  assert.equal((await send('/v1/chat/completions', { model: 'x', messages })).status, 200)
  const sessions = await (await gateway.http('/api/sessions?platform=api_server')).json()
  const chat = String(at(sessions, 'sessions', 0, 'chat_id'))
  const channels = await (await gateway.http('/api/channels')).json()
  assert.deepEqual(at(channels, 'channels'), [])
  const sent = await send('/api/send', { targets: [`api_server:${chat}`], text: 'hello', wait: 1 })
  assert.match(JSON.stringify(sent.body), /takes no messages/)
  const outbox = await (await gateway.http('/api/outbox')).json()
  assert.doesNotMatch(JSON.stringify(outbox), /hello/)
})

test('a copy of a session ends with a turn, or before it', async (t) => {
  const gateway = await startTestGateway(t)
  for (const text of ['one', 'two']) {
    await gateway.say(text)
    await gateway.waitForReply(text)
  }
  const get = async (path: string): Promise<unknown> => await (await gateway.http(path)).json()
  const id = String(at(await get('/api/sessions'), 'sessions', 0, 'id'))
  const turn = String(at(await get(`/api/sessions/${id}/messages?order=newest`), 'messages', 0, 'turn_id'))
  const fork = async (end: object) => {
    const response = await gateway.http(`/api/sessions/${id}/fork`, { method: 'POST', body: JSON.stringify(end) })
    return { status: response.status, messages: at(await response.json(), 'session', 'message_count') }
  }
  assert.deepEqual(await fork({ before: turn }), { status: 200, messages: 2 })
  assert.deepEqual(await fork({ through: turn }), { status: 200, messages: 4 })
  for (const end of [{ before: turn, through: turn }, { before: 'another' }])
    assert.equal((await fork(end)).status, 400, JSON.stringify(end))
})
