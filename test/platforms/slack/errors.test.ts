/**
 * Maps errors of Slack to send results, and applies rate limits.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toCallFailure } from '../../../platforms/slack/errors.ts'
import { channel, direct, neverAborted, reply, startSlackTest } from './support.ts'

const refusal = (error: string, more = {}) => ({
  code: 'slack_webapi_platform_error',
  data: { ok: false, error, ...more },
})
const noAnswer = (code: string) => {
  const cause = Object.assign(new Error('connect failed'), { code })
  return { code: 'slack_webapi_request_error', original: Object.assign(new TypeError('fetch failed'), { cause }) }
}

describe('an error of Slack', () => {
  const cases: readonly [thrown: unknown, problem: string, maybe: boolean | undefined, pattern: RegExp][] = [
    [refusal('invalid_auth'), 'unauthorised', undefined, /invalid_auth/],
    [refusal('not_allowed_token_type'), 'unauthorised', undefined, /xoxb-/],
    [refusal('account_inactive'), 'unauthorised', undefined, /account_inactive/],
    [refusal('token_revoked'), 'unauthorised', undefined, /token_revoked/],
    [refusal('channel_not_found'), 'rejected', undefined, /\/invite/],
    [refusal('not_in_channel'), 'rejected', undefined, /\/invite/],
    [refusal('is_archived'), 'rejected', undefined, /is_archived/],
    [refusal('msg_too_long'), 'rejected', undefined, /msg_too_long/],
    [refusal('no_text'), 'rejected', undefined, /no_text/],
    [refusal('message_not_found'), 'rejected', undefined, /message_not_found/],
    [refusal('something_new'), 'rejected', undefined, /something_new/],
    [refusal('missing_scope', { needed: 'files:write' }), 'rejected', undefined, /files:write/],
    [refusal('internal_error'), 'temporary', true, /internal_error/],
    [refusal('fatal_error'), 'temporary', true, /fatal_error/],
    [refusal('ratelimited'), 'rate-limited', undefined, /rate/],
    [refusal('<html>a proxy</html>'), 'temporary', true, /./],
    [{ code: 'slack_webapi_http_error', statusCode: 503 }, 'temporary', true, /503/],
    [{ code: 'slack_webapi_rate_limited_error', retryAfter: 30 }, 'rate-limited', undefined, /rate/],
    [new Error('an error'), 'temporary', true, /an error/],
    ['a text', 'temporary', true, /a text/],
  ]
  for (const [thrown, problem, maybe, pattern] of cases) {
    test(`${JSON.stringify(thrown)} is ${problem}`, () => {
      const failure = toCallFailure(thrown, 'chat.postMessage')
      assert.deepEqual([failure.problem, failure.maybeSent], [problem, maybe])
      assert.match(failure.error, pattern)
    })
  }

  test('maybeSent is set for a broken connection, but not for one that was never made', () => {
    const refused = toCallFailure(Object.assign(new Error('x'), noAnswer('ECONNREFUSED')), 'chat.postMessage')
    assert.deepEqual([refused.problem, refused.maybeSent], ['temporary', undefined])
    assert.match(refused.error, /ECONNREFUSED/)
    const broken = toCallFailure(Object.assign(new Error('x'), noAnswer('ECONNRESET')), 'chat.postMessage')
    assert.equal(broken.maybeSent, true)
  })

  test('a rate limit has the scope of the chat and the duration from Slack', () => {
    const limited = { code: 'slack_webapi_rate_limited_error', retryAfter: 3 }
    const { scope, retryAfterMs } = toCallFailure(limited, 'chat.update')
    assert.deepEqual([scope, retryAfterMs], ['chat', 3_000])
  })
})

test('no method is called before its rate limit has expired', async (t) => {
  let now = 1_000_000
  const { server, adapter } = await startSlackTest(t, { clock: () => now })
  server.faults.limit({ on: 'chat.postMessage', ms: 2_000, chat: direct })
  const first = await adapter.send(reply('one'), neverAborted)
  assert.ok(!first.success && first.retryAfterMs !== undefined && first.retryAfterMs >= 2_000)
  const before = server.faults.calls('chat.postMessage')
  now += first.retryAfterMs - 500
  const early = await adapter.send(reply('one'), neverAborted)
  assert.ok(!early.success && early.problem === 'rate-limited' && early.retryAfterMs === 500, JSON.stringify(early))
  assert.equal(server.faults.calls('chat.postMessage'), before)
  // Another channel has a budget of its own.
  assert.equal((await adapter.send(reply('two', channel), neverAborted)).success, true)
})

test('a rate limit of edits delays edits in all chats, but no posts', async (t) => {
  let now = 1_000_000
  const { server, adapter } = await startSlackTest(t, { clock: () => now })
  const one = await adapter.send(reply('one', direct), neverAborted)
  const other = await adapter.send(reply('two', channel, { deliveryId: 'other' }), neverAborted)
  assert.ok(one.success && other.success)
  server.faults.limit({ on: 'chat.update', ms: 1_000 })
  const edit = async (ts = '', chat = direct) => await adapter.edit?.(ts, reply('edited', chat), true, neverAborted)
  assert.equal((await edit(one.messageId))?.success, false)
  const held = await edit(other.messageId, channel)
  assert.ok(held !== undefined && !held.success && held.problem === 'rate-limited')
  assert.equal(server.faults.calls('chat.update'), 1)
  assert.equal((await adapter.send(reply('three', channel, { deliveryId: 'third' }), neverAborted)).success, true)
  now += 1_000
  server.faults.clear()
  assert.equal((await edit(other.messageId, channel))?.success, true)
})

test('concurrent growing replies are edited less often', async (t) => {
  let now = 1_000_000
  const { adapter } = await startSlackTest(t, { clock: () => now })
  assert.equal(adapter.draftIntervalMs, 800)
  for (const deliveryId of ['one', 'two', 'three']) {
    const draft = reply('The', direct, { kind: 'draft', deliveryId })
    const sent = await adapter.send(draft, neverAborted)
    assert.ok(sent.success && sent.messageId !== undefined)
    await adapter.edit?.(sent.messageId, { ...draft, text: 'The quick' }, false, neverAborted)
  }
  assert.equal(adapter.draftIntervalMs, 3_600)
  now += 11_000
  assert.equal(adapter.draftIntervalMs, 800)
})

test('a call without a response times out', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  const release = server.faults.hold('chat.postMessage')
  const force = new AbortController()
  const sending = adapter.send(reply('hello?'), force.signal)
  await server.until(() => (server.faults.calls('chat.postMessage') > 0 ? true : undefined), 10)
  force.abort()
  const result = await sending
  release()
  assert.ok(!result.success && result.problem === 'temporary' && result.maybeSent === true, JSON.stringify(result))
})
