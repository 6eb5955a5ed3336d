import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { linkAbortSignal } from '../../src/lib/linked-signal.ts'

test('it aborts with whichever it follows, for the same reason, and also when that was over before', () => {
  const [process, account] = [new AbortController(), new AbortController()]
  const call = linkAbortSignal(process.signal, account.signal)
  assert.equal(call.signal.aborted, false)
  account.abort('gone')
  assert.equal(call.signal.reason, 'gone')
  assert.equal(linkAbortSignal(process.signal, account.signal).signal.reason, 'gone')
})

test('a call that ends alone ends nothing else, and leaves nothing behind', () => {
  const account = new AbortController()
  const call = linkAbortSignal(account.signal)
  assert.equal(getEventListeners(account.signal, 'abort').length, 1)
  call.abort()
  call.release()
  call.release()
  assert.deepEqual([call.signal.aborted, account.signal.aborted], [true, false])
  assert.equal(getEventListeners(account.signal, 'abort').length, 0)
})
