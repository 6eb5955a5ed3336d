import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBotApi, type TelegrafClient } from '../../../../platforms/telegram/connection/api.ts'
import {
  ApiError,
  createTokenRedactor,
  parseErrorResponse,
  toApiError,
  toSendResult,
} from '../../../../platforms/telegram/errors.ts'
import { signal } from '../support.ts'

const token = '123456:AAsecret_part-of-it'
const redact = createTokenRedactor(token)
const apiRoot = 'https://api.telegram.org/'

const apiOf = (callApi: TelegrafClient['callApi'], callTimeoutMs = 10_000) =>
  createBotApi({ client: { callApi }, fetch, apiRoot, token, redact, callTimeoutMs })

/** As node-fetch makes them. */
function fetchError(reason: string, code?: string): Error {
  const error = new Error(`request to ${apiRoot}bot${token}/sendMessage failed, reason: ${reason}`)
  return Object.assign(error, { name: 'FetchError', type: 'system', ...(code === undefined ? {} : { code }) })
}

test('the token leaves every text in which it stands', () => {
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

test('an error on the way is told by what happened, not by its address', () => {
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

test('only a connection that was never made has certainly sent nothing', () => {
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

test('each answer of Telegram says what the sender should do next', () => {
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
  assert.deepEqual(next(429, 'soon'), { success: false, problem: 'rate-limited' })
  assert.deepEqual(next(500), { success: false, problem: 'temporary', maybeSent: true })
  assert.deepEqual(next(0), { success: false, problem: 'temporary', maybeSent: true })
})

test('a call that nobody answers is given up; one that is called off in time is not made', async () => {
  let made = 0
  const api = apiOf((_method, _payload, options) => {
    made += 1
    const given = options?.signal
    assert.ok(given instanceof AbortSignal)
    return new Promise((_, reject) => given.addEventListener('abort', () => reject(new Error('aborted'))))
  }, 1)
  await assert.rejects(api.call('sendMessage', {}, signal), (error) => {
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.message, error.details.notExecuted], ['Telegram does not answer.', false])
    return true
  })
  await assert.rejects(
    api.call('sendMessage', {}, AbortSignal.abort()),
    (error) => error instanceof ApiError && error.details.notExecuted,
  )
  assert.equal(made, 1)
})

test('the address of a file keeps strange names in their place', () => {
  const api = apiOf(async () => undefined)
  assert.equal(api.fileUrl('photos/a b?.jpg'), `${apiRoot}file/bot${token}/photos/a%20b%3F.jpg`)
})
