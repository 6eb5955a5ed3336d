import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flushEventLoop, limited, lost, type OutboxFixture, openOutbox, temporary } from './support.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const options = { target, turnId: 'turn-1', index: 0, delayMs: 500 }

function openStatus({ outbox }: OutboxFixture, changes: Partial<typeof options> = {}) {
  return outbox.openStatus({ ...options, ...changes })
}

const drafts = async (bench: OutboxFixture) => (await bench.rows()).length

test('a status message appears after its delay, is edited at a limited rate, and ends with its last text', async (t) => {
  const bench = openOutbox(t)
  const { sender, time } = bench
  const status = await openStatus(bench)
  status.update('one')
  await flushEventLoop()
  assert.deepEqual([sender.texts(), time.pendingSleeps()], [[], [500]])
  time.advance(500)
  await flushEventLoop()
  for (const text of ['two', 'three', 'four']) status.update(text)
  await flushEventLoop()
  assert.deepEqual([sender.texts(), time.pendingSleeps()], [['one'], [1_000]])
  status.end('five')
  time.advance(1_000)
  await flushEventLoop()
  assert.deepEqual(
    sender.calls.map(({ op, text, kind }) => [op, text, kind]),
    [
      ['send', 'one', 'notice'],
      ['edit', 'five', 'notice'],
    ],
  )
  assert.deepEqual(bench.outbox.leftStatuses('turn-1'), [])
  assert.equal(await drafts(bench), 0)
})

test('what ends before the delay is never shown', async (t) => {
  const bench = openOutbox(t)
  const status = await openStatus(bench)
  status.update('one')
  await flushEventLoop()
  status.end('two')
  await flushEventLoop()
  bench.time.advance(5_000)
  await flushEventLoop()
  assert.deepEqual(bench.sender.calls, [])
  assert.deepEqual(bench.time.pendingSleeps(), [])
})

test('a status message appears below the replies that were written before it', async (t) => {
  const bench = openOutbox(t)
  bench.sender.script.push(temporary)
  await bench.say('the text before the tools')
  await bench.outbox.whenIdle()
  const status = await openStatus(bench, { delayMs: 0 })
  status.update('a tool')
  await flushEventLoop()
  for (let waits = 0; waits < 60 && bench.sender.shown.size < 2; waits += 1) {
    bench.time.advance(250)
    await bench.outbox.whenIdle()
    await flushEventLoop()
  }
  assert.deepEqual([...bench.sender.shown.values()], ['the text before the tools', 'a tool'])
})

test('a status message that is to be removed is removed where the platform can, and ends with its text elsewhere', async (t) => {
  for (const [remove, op] of [
    [true, 'remove'],
    [false, 'edit'],
  ] as const) {
    const bench = openOutbox(t, { remove })
    const status = await openStatus(bench, { delayMs: 0 })
    status.update('a tool runs')
    await flushEventLoop()
    status.end('done', { remove: true })
    bench.time.advance(1_000)
    await flushEventLoop()
    assert.deepEqual(
      bench.sender.calls.map((call) => call.op),
      ['send', op],
    )
  }
})

test('a status message whose response was lost is not sent again, and a rate limit is respected', async (t) => {
  const unclear = openOutbox(t)
  unclear.sender.script.push(lost)
  const first = await openStatus(unclear, { delayMs: 0 })
  first.update('one')
  await flushEventLoop()
  unclear.time.advance(2_000)
  first.update('two')
  await flushEventLoop()
  assert.equal(unclear.sender.calls.length, 1)

  const slow = openOutbox(t)
  slow.sender.script.push(limited(20_000))
  const second = await openStatus(slow, { delayMs: 0 })
  second.update('one')
  await flushEventLoop()
  slow.time.advance(2_000)
  await flushEventLoop()
  assert.equal(slow.sender.calls.length, 1)
  slow.time.advance(18_001)
  await flushEventLoop()
  assert.equal(slow.sender.calls.length, 2)
})

test('pages and clients that read the stored history get no status messages', async (t) => {
  const bench = openOutbox(t, { idempotentSends: true })
  assert.equal(bench.outbox.takesStatus(target), false)
  assert.equal(openOutbox(t).outbox.takesStatus(target), true)
})

test('after a restart the message of an interrupted turn is known, and its end waits for the platform', async (t) => {
  const bench = openOutbox(t)
  const status = await openStatus(bench, { delayMs: 0 })
  status.update('a tool runs')
  await flushEventLoop()
  bench.crash()
  const { path, time, sender } = bench
  const later = openOutbox(t, { path, time, sender })
  await later.outbox.recover()
  assert.deepEqual(later.outbox.leftStatuses('turn-1'), [0])
  later.connected = false
  const left = await openStatus(later, { delayMs: 0 })
  left.end('interrupted')
  await flushEventLoop()
  later.connected = true
  later.time.advance(1_000)
  await flushEventLoop()
  assert.deepEqual(
    later.sender.calls.slice(1).map(({ op, text, messageId }) => [op, text, messageId]),
    [['edit', 'interrupted', 'm1']],
  )
  assert.deepEqual(later.outbox.leftStatuses('turn-1'), [])
})
