import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import { ownerAuthority } from '../kit/authority.ts'
import { inboxFor, keys, message } from './support.ts'

test('an accepted message is stored before its platform gets the result and before the engine is woken', async (t) => {
  const { inbox, stored, woken } = inboxFor(t)
  const accepted = await inbox.accept(message('hello'), keys('k1'))
  assert.deepEqual(accepted, { status: 'accepted', seq: 1 })
  assert.equal(JSON.parse(stored()[0]?.payload ?? '').text, 'hello')
  assert.deepEqual(woken, ['key:c turn 1'])
})

test('a command is queued in the control lane, which never waits', async (t) => {
  const { inbox, woken } = inboxFor(t)
  await inbox.accept(message('/stop', { messageType: 'command' }), keys('k1'))
  assert.deepEqual(woken, ['key:c control 1'])
})

test('a message that is delivered twice is accepted once', async (t) => {
  const { inbox, stored, woken } = inboxFor(t)
  await inbox.accept(message('hello'), keys('k1'))
  assert.deepEqual(await inbox.accept(message('hello'), keys('k1')), { status: 'duplicate', seq: 1 })
  assert.equal(stored().length, 1)
  assert.equal(woken.length, 1)
})

test('a message is recognised by each of its keys, also by those that arrive later', async (t) => {
  const { inbox, stored } = inboxFor(t)
  await inbox.accept(message('hello'), keys('message 1', 'event 1'))
  assert.deepEqual(await inbox.accept(message('hello'), keys('event 1')), { status: 'duplicate', seq: 1 })
  assert.deepEqual(await inbox.accept(message('hello'), keys('history 1', 'message 1')), {
    status: 'duplicate',
    seq: 1,
  })
  assert.deepEqual(await inbox.accept(message('hello'), keys('history 1')), { status: 'duplicate', seq: 1 })
  assert.deepEqual(await inbox.accept(message('other'), keys('message 2', 'event 2')), { status: 'accepted', seq: 2 })
  assert.equal(stored().length, 2)
})

test('concurrent deliveries of the same message give one row', async (t) => {
  const { inbox, stored, woken } = inboxFor(t)
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, index) => inbox.accept(message('hello'), keys(`own ${index}`, 'shared'))),
  )
  assert.equal(all.filter(({ status }) => status === 'accepted').length, 1)
  assert.equal(all.filter(({ status }) => status === 'duplicate').length, 19)
  assert.ok(all.every((accepted) => accepted.status !== 'refused' && accepted.seq === 1))
  assert.equal(stored().length, 1)
  assert.equal(woken.length, 1)
})

test('a refused message leaves nothing behind, and is accepted once its author is allowed', async (t) => {
  let allowed = false
  const { inbox, stored, woken } = inboxFor(t, { access: () => ({ allowed, reason: 'a stranger' }) })
  assert.deepEqual(await inbox.accept(message('hello'), keys('k1')), { status: 'refused', reason: 'a stranger' })
  assert.deepEqual(stored(), [])
  assert.deepEqual(woken, [])
  allowed = true
  assert.equal((await inbox.accept(message('hello'), keys('k1'))).status, 'accepted')
})

test('a person who loses the access while the platform is asked for roles is refused', async (t) => {
  let allowed = true
  const { inbox, stored } = inboxFor(t, {
    access: () => ({ allowed, reason: 'revoked' }),
    async lookUpAuthority() {
      allowed = false
      return ownerAuthority
    },
  })
  assert.deepEqual(await inbox.accept(message('hello'), keys('k1')), { status: 'refused', reason: 'revoked' })
  assert.deepEqual(stored(), [])
})

test('events of the gateway itself need no permission', async (t) => {
  const { inbox } = inboxFor(t, { access: () => ({ allowed: false, reason: 'not allowed' }) })
  assert.equal((await inbox.accept(message('tick', { internal: true }), keys('cron:1'))).status, 'accepted')
})

test('a message that is too large is refused with its size, and nothing of it is stored', async (t) => {
  const { inbox, stored, woken } = inboxFor(t)
  await assert.rejects(
    inbox.accept(message('x'.repeat(10_241)), keys('k1')),
    (error) => isHermesError(error, 'inbox/too-large') && error.detail.includes('10240'),
  )
  await assert.rejects(inbox.accept(message('😀'.repeat(2_560)), keys('k2')), 'bytes count, not characters')
  assert.deepEqual(stored(), [])
  assert.deepEqual(woken, [])
})

test('messages are not accepted while the gateway starts, so that the platform delivers them again', async (t) => {
  const { inbox, stored } = inboxFor(t, { lifecycle: { phase: 'starting' } })
  await assert.rejects(inbox.accept(message('hello'), keys('k1')), (error) => isHermesError(error, 'http/starting'))
  assert.deepEqual(stored(), [])
})

test('a message that cannot be stored is not acknowledged and does not wake the engine', async (t) => {
  const { inbox, woken, store } = inboxFor(t)
  await store.close()
  await assert.rejects(inbox.accept(message('hello'), keys('k1')))
  assert.deepEqual(woken, [])
})

test('invalid text is accepted: unpaired surrogates are replaced, everything else is unchanged', async (t) => {
  const { inbox, stored } = inboxFor(t)
  const source = { ...message('').source, userName: 'half \udc00 name' }
  await inbox.accept(message('a \ud83d b \0 c 😀 \u202e', { source }), keys('k1'))
  const payload = stored()[0]?.payload ?? ''
  const event: MessageEvent = JSON.parse(payload)
  assert.equal(event.text, 'a \ufffd b \0 c 😀 \u202e')
  assert.equal(event.source.userName, 'half \ufffd name')
})
