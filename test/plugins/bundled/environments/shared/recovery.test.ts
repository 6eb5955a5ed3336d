import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecovery } from '../../../../../plugins/environments/shared/recovery.ts'
import { silentLog } from '../../../../../src/lib/log.ts'

const request = { log: silentLog }
const never = new AbortController().signal

test('a caller that gives up does not end the work for the others', async () => {
  const work = Promise.withResolvers<void>()
  let calls = 0
  const recovery = createRecovery(async () => {
    calls += 1
    await work.promise
  })
  const stop = new AbortController()
  const first = recovery.once(request, stop.signal)
  const second = recovery.once(request, never)
  stop.abort(new Error('the conversation was stopped'))
  await assert.rejects(first, /the conversation was stopped/)
  work.resolve()
  await second
  assert.equal(calls, 1)
})

test('what has failed is tried again by the next caller', async () => {
  let calls = 0
  const recovery = createRecovery(async () => {
    calls += 1
    if (calls === 1) throw new Error('no engine')
  })
  await assert.rejects(recovery.once(request, never), /no engine/)
  await recovery.once(request, never)
  await recovery.once(request, never)
  assert.equal(calls, 2)
})
