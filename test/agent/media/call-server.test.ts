import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callServer } from '../../../src/agent/media/call-server.ts'
import { ModelError, type ModelErrorKind } from '../../../src/agent/models/provider.ts'

async function callsAfter(kind: ModelErrorKind, isCostly: boolean, status?: number): Promise<number> {
  let calls = 0
  const keys = { baseUrl: () => '', secret: () => '', rotate: () => false, succeeded: () => undefined }
  const { signal } = new AbortController()
  const options = { keys, sleep: async () => undefined, signal, isCostly }
  await assert.rejects(
    callServer(options, async () => {
      calls += 1
      throw new ModelError(kind, 'It failed.', status === undefined ? {} : { status })
    }),
  )
  return calls
}

test('a picture that may have been drawn is not paid for again', async () => {
  assert.deepEqual([await callsAfter('network', true), await callsAfter('overloaded', true, 504)], [1, 1])
  assert.deepEqual([await callsAfter('rate-limit', true, 429), await callsAfter('overloaded', true, 503)], [3, 3])
  assert.deepEqual([await callsAfter('network', false), await callsAfter('overloaded', false, 504)], [3, 3])
})
