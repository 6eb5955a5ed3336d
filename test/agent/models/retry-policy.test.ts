import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../../src/agent/models/provider.ts'
import {
  decideRetry,
  type FailedCalls,
  noticeDelayMs,
  type RetryRules,
} from '../../../src/agent/models/retry-policy.ts'

const busy = new ModelError('overloaded', 'later')
const rules = { windowMs: 120_000, maxRetries: undefined }
const failed = (count: number): FailedCalls => ({ count, sameInRow: count, since: 0, isOutage: false })
const waits = (random: number) =>
  [1, 2, 3, 4, 5, 6, 20].map((count) => {
    const decision = decideRetry(busy, failed(count), rules, 0, () => random)
    return decision.kind === 'retry' ? decision.waitMs : decision.kind
  })

test('the pauses grow between a floor and a ceiling', () => {
  assert.deepEqual(waits(0), [250, 500, 1_000, 2_000, 3_750, 3_750, 3_750])
  assert.deepEqual(waits(1), [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000])
})

test('the last retry is made at the end of the window', () => {
  assert.deepEqual(
    decideRetry(busy, failed(9), rules, 119_000, () => 1),
    { kind: 'retry', waitMs: 1_000 },
  )
  assert.deepEqual(
    decideRetry(busy, failed(9), rules, 120_000, () => 1),
    { kind: 'outage' },
  )
})

test('a server on this machine that is not started is retried for a shorter window where no user waits', () => {
  const refused = new ModelError('network', 'refused', { isLocalRefusal: true })
  const unattended = { ...rules, localRefusalWindowMs: 15_000 }
  const kindAt = (failure: ModelError, now: number, of: RetryRules) =>
    decideRetry(failure, failed(3), of, now, () => 1).kind
  assert.equal(kindAt(refused, 14_000, unattended), 'retry')
  assert.equal(kindAt(refused, 15_000, unattended), 'outage')
  assert.equal(kindAt(busy, 15_000, unattended), 'retry')
  assert.equal(kindAt(refused, 15_000, rules), 'retry')
  assert.equal(kindAt(refused, 15_000, { windowMs: 1_000, maxRetries: undefined }), 'outage')
})

test('without a window nothing is retried', () => {
  const none = { windowMs: 0, maxRetries: undefined }
  assert.deepEqual(
    decideRetry(busy, failed(1), none, 0, () => 0),
    { kind: 'outage' },
  )
  const unusable = new ModelError('bad-response', 'a page')
  assert.deepEqual(
    decideRetry(unusable, failed(1), none, 0, () => 0),
    { kind: 'fail' },
  )
})

test('the maximum number of retries ends the request, not only its window', () => {
  const limited = { windowMs: 120_000, maxRetries: 2 }
  assert.equal(decideRetry(busy, failed(2), limited, 0, () => 0).kind, 'retry')
  assert.equal(decideRetry(busy, failed(3), limited, 0, () => 0).kind, 'fail')
})

test('a delay of zero that a server requests does not become a busy loop', () => {
  const now = new ModelError('rate-limit', 'now', { retryAfterMs: 0 })
  assert.deepEqual(
    decideRetry(now, failed(1), rules, 0, () => 0),
    { kind: 'retry', waitMs: 250 },
  )
})

test('a short window shortens the pauses and the delay of the notice', () => {
  const short = { windowMs: 800, maxRetries: undefined }
  assert.deepEqual(
    decideRetry(busy, failed(5), short, 0, () => 1),
    { kind: 'retry', waitMs: 100 },
  )
  assert.equal(noticeDelayMs(short), 100)
  assert.equal(noticeDelayMs(rules), 15_000)
})
