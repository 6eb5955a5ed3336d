import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advanceCursor, listCursors, pruneCursors } from '../../src/inbox/cursors.ts'
import { openStore } from '../kit/open-store.ts'
import { inboxFor, keys, message } from './support.ts'

const bot = { platform: 'chat', account: 'bot' }

test('a cursor only advances: a longer id is newer, and of two ids with the same length the one that sorts later', async (t) => {
  const { store } = openStore(t)
  const after = async (id: string) => {
    await store.run(() => advanceCursor(bot, { place: 'c', id }, 1))
    return (await store.run(() => listCursors(bot))).get('c')
  }
  assert.equal(await after('99'), '99')
  assert.equal(await after('100'), '100')
  assert.equal(await after('99'), '100')
  assert.equal(await after('099'), '100')
  assert.equal(await after('101'), '101')
  assert.equal(await after('1700000000.000200'), '1700000000.000200')
  assert.equal(await after('1700000000.000199'), '1700000000.000200')
})

test('chats and accounts have separate cursors', async (t) => {
  const { store } = openStore(t)
  const other = { ...bot, account: 'other' }
  await store.run(() => advanceCursor(bot, { place: 'a', id: '1' }, 1))
  await store.run(() => advanceCursor(bot, { place: 'b', id: '2' }, 1))
  await store.run(() => advanceCursor(other, { place: 'a', id: '9' }, 1))
  assert.deepEqual([...(await store.run(() => listCursors(bot)))].sort(), [
    ['a', '1'],
    ['b', '2'],
  ])
  assert.deepEqual([...(await store.run(() => listCursors(other)))], [['a', '9']])
})

test('a cursor advances with an accepted, a known, a refused and a too large message', async (t) => {
  let allowed = true
  const { inbox, store } = inboxFor(t, { access: () => ({ allowed, reason: 'a stranger' }) })
  const mark = async () => (await store.run(() => listCursors(bot))).get('c')
  await inbox.accept(message('one'), keys('k1'), { place: 'c', id: '1' })
  assert.equal(await mark(), '1')
  await inbox.accept(message('one'), keys('k1'), { place: 'c', id: '2' })
  assert.equal(await mark(), '2')
  allowed = false
  assert.equal((await inbox.accept(message('no'), keys('k2'), { place: 'c', id: '3' })).status, 'refused')
  assert.equal(await mark(), '3')
  allowed = true
  await assert.rejects(inbox.accept(message('x'.repeat(20_000)), keys('k3'), { place: 'c', id: '4' }))
  assert.equal(await mark(), '4')
  await inbox.accept(message('without'), keys('k4'))
  assert.equal(await mark(), '4')
})

test('a refused user creates no cursor: without an accepted message no cursor exists', async (t) => {
  const { inbox, store } = inboxFor(t, { access: () => ({ allowed: false, reason: 'a stranger' }) })
  for (const place of ['c', 'c:1', 'c:2']) await inbox.accept(message('no'), keys(place), { place, id: '3' })
  assert.equal((await store.run(() => listCursors(bot))).size, 0)
})

test('the cursor stays when the message cannot be stored', async (t) => {
  const { inbox, store } = inboxFor(t, { sessionKey: () => JSON.parse('null') })
  await assert.rejects(inbox.accept(message('one'), keys('k1'), { place: 'c', id: '1' }))
  assert.equal((await store.run(() => listCursors(bot))).size, 0)
})

test('cursors of inactive chats are pruned in batches', async (t) => {
  const { store } = openStore(t)
  for (const place of ['a', 'b', 'c']) await store.run(() => advanceCursor(bot, { place, id: '1' }, 1_000))
  await store.run(() => advanceCursor(bot, { place: 'd', id: '1' }, 5_000))
  assert.equal(await store.run(() => pruneCursors(5_000, 2)), 2)
  assert.equal(await store.run(() => pruneCursors(5_000, 2)), 1)
  assert.equal(await store.run(() => pruneCursors(5_000, 2)), 0)
  assert.deepEqual([...(await store.run(() => listCursors(bot))).keys()], ['d'])
})
