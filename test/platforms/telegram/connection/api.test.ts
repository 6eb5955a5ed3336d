import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBotApi, type TelegrafClient } from '../../../../platforms/telegram/connection/api.ts'
import { ApiError, createTokenRedactor, parseErrorResponse, toApiError } from '../../../../platforms/telegram/errors.ts'
import { toSendResult } from '../../../../platforms/telegram/outbound/text.ts'
import { signal } from '../support.ts'

const token = '123456:AAsecret_part-of-it'
const redact = createTokenRedactor(token)
const apiRoot = 'https://api.telegram.org/'

const apiOf = (callApi: TelegrafClient['callApi'], callTimeoutMs = 10_000) =>
  createBotApi({ apiRoot, ownApiRoot: false, token }, { callApi }, callTimeoutMs)

/** Creates an error like those of node-fetch. */
function fetchError(reason: string, code?: string): Error {
  const error = new Error(`request to ${apiRoot}bot${token}/sendMessage failed, reason: ${reason}`)
  return Object.assign(error, { name: 'FetchError', type: 'system', ...(code === undefined ? {} : { code }) })
}

test('the token is removed from every text', () => {
  for (const text of [
    `${apiRoot}bot${token}/getMe`,
    `${apiRoot}bot${encodeURIComponent(token)}/getMe`,
    `the token ${token}`,
    `${apiRoot}file/bot${token}/photos/a.jpg`,
  ]) {
    assert.doesNotMatch(redact(text), /secret_part/, text)
  }
  assert.equal(redact('/bot999:other/getMe'), '/bot<token>/getMe')
})

test('a network error is described without the URL of the call', () => {
  assert.equal(
    toApiError(fetchError('connect ECONNREFUSED 149.154.167.220:443', 'ECONNREFUSED'), redact).message,
    'Telegram could not be reached: connect ECONNREFUSED 149.154.167.220:443',
  )
  assert.equal(toApiError(fetchError('', 'ETIMEDOUT'), redact).message, 'Telegram could not be reached: ETIMEDOUT')
  const json = new Error(`invalid json response body at ${apiRoot}bot${token}/getMe reason: Unexpected token '<'`)
  assert.equal(toApiError(json, redact).message, "Telegram could not be reached: Unexpected token '<'")
  const undici = new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
  assert.equal(toApiError(undici, redact).message, 'Telegram could not be reached: other side closed')
  assert.equal(toApiError(`thrown ${token}`, redact).message, 'Telegram could not be reached: thrown <token>')
})

test('only a failed connect counts as not executed', () => {
  const unsent: readonly (readonly [string, string?])[] = [
    ['connect ECONNREFUSED 127.0.0.1:1', 'ECONNREFUSED'],
    ['connect ETIMEDOUT 1.2.3.4:443', 'ETIMEDOUT'],
    ['connect EHOSTUNREACH 1.2.3.4:443', 'EHOSTUNREACH'],
    ['getaddrinfo ENOTFOUND api.telegram.org', 'ENOTFOUND'],
    ['getaddrinfo EAI_AGAIN api.telegram.org', 'EAI_AGAIN'],
    ['certificate has expired', 'CERT_HAS_EXPIRED'],
    ['unable to verify the first certificate', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  ]
  const maybe: readonly (readonly [string, string?])[] = [
    ['read ECONNRESET', 'ECONNRESET'],
    ['read ETIMEDOUT', 'ETIMEDOUT'],
    ['read EHOSTUNREACH', 'EHOSTUNREACH'],
    ['socket hang up', 'ECONNRESET'],
    ['Premature close', 'ERR_STREAM_PREMATURE_CLOSE'],
    ['something new'],
  ]
  for (const [reason, code] of unsent)
    assert.equal(toApiError(fetchError(reason, code), redact).details.notExecuted, true, reason)
  for (const [reason, code] of maybe)
    assert.equal(toApiError(fetchError(reason, code), redact).details.notExecuted, false, reason)
})

test('each error of Telegram maps to a send result', () => {
  const next = (error_code: number, parameters?: unknown) => {
    const { error: _error, ...rest } = toSendResult(
      parseErrorResponse({ ok: false, error_code, description: 'x', parameters }, redact),
    )
    return rest
  }
  assert.deepEqual(next(400), { success: false, problem: 'rejected' })
  assert.deepEqual(next(403), { success: false, problem: 'rejected' })
  assert.deepEqual(next(401), { success: false, problem: 'unauthorised' })
  assert.deepEqual(next(429, { retry_after: 7 }), { success: false, problem: 'rate-limited', retryAfterMs: 7_000 })
  assert.deepEqual(next(429, 'soon'), { success: false, problem: 'rate-limited', retryAfterMs: undefined })
  assert.deepEqual(next(500), { success: false, problem: 'temporary', maybeSent: true })
  assert.deepEqual(next(0), { success: false, problem: 'temporary', maybeSent: true })
})

test('a call without a response times out; an aborted call is not sent', async () => {
  let calls = 0
  const api = apiOf((_method, _payload, options) => {
    calls += 1
    const passed = options?.signal
    assert.ok(passed instanceof AbortSignal)
    return new Promise((_, reject) => passed.addEventListener('abort', () => reject(new Error('aborted'))))
  }, 1)
  await assert.rejects(api.call('sendMessage', {}, signal), (error) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.details.code, error.details.notExecuted], [undefined, false])
    return true
  })
  await assert.rejects(
    api.call('sendMessage', {}, AbortSignal.abort()),
    (error) => error instanceof ApiError && error.details.notExecuted,
  )
  assert.equal(calls, 1)
})

test('the URL of a file escapes its name', () => {
  const api = apiOf(async () => undefined)
  assert.equal(api.fileUrl('photos/a b?.jpg'), `${apiRoot}file/bot${token}/photos/a%20b%3F.jpg`)
})
