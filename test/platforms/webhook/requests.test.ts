import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { HermesError } from '../../../src/lib/errors.ts'
import { github, hmac, plain, secret, sha256, startWebhooks, type TestRequest } from './support.ts'

const body = JSON.stringify({ action: 'opened', number: 7 })
const seconds = (offset = 0) => String(Math.floor(Date.UTC(2026, 0, 2, 3, 4, 5) / 1_000) + offset)
const stripe = (time: string, key = secret) => ({ 'stripe-signature': `t=${time},v1=${hmac(`${time}.${body}`, key)}` })
const slack = (time: string, key = secret) => ({
  'x-slack-request-timestamp': time,
  'x-slack-signature': `v0=${hmac(`v0:${time}:${body}`, key)}`,
})
const timed = (time: string, key = secret) => ({
  'x-webhook-timestamp': time,
  'x-webhook-signature-v2': hmac(`${time}.${body}`, key),
})
const standard = (time: string, id = 'msg_1') => ({
  'webhook-id': id,
  'webhook-timestamp': time,
  'webhook-signature': `v1,${hmac(`${id}.${time}.${body}`, secret, 'base64')}`,
})
const digest = hmac(body)

const accepted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a digest as GitHub sends it': { 'x-hub-signature-256': `sha256=${digest}` },
  'a digest in upper case': { 'x-hub-signature-256': `sha256=${digest.toUpperCase()}` },
  'a token as GitLab sends it': { 'x-gitlab-token': secret },
  'a plain digest': { 'x-webhook-signature': digest },
  'a digest with a time': timed(seconds(-200)),
  'a signature as Stripe sends it': stripe(seconds()),
  'a signature as Stripe sends it with two secrets': {
    'stripe-signature': `t=${seconds()},v1=${'0'.repeat(64)},v1=${hmac(`${seconds()}.${body}`)}`,
  },
  'a signature as Slack sends it': slack(seconds(100)),
  'a signature of Standard Webhooks': standard(seconds()),
  'a bearer token': { authorization: `Bearer ${secret}` },
}

const forged: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'no signature': {},
  'an empty digest': { 'x-hub-signature-256': '' },
  'a prefix without a digest': { 'x-hub-signature-256': 'sha256=' },
  'a digest without its prefix': { 'x-hub-signature-256': digest },
  'a digest of another secret': { 'x-hub-signature-256': `sha256=${hmac(body, 'another-secret')}` },
  'a digest of another body': { 'x-hub-signature-256': `sha256=${hmac('{}')}` },
  'a truncated digest': { 'x-hub-signature-256': `sha256=${digest.slice(0, 32)}` },
  'a digest with more behind it': { 'x-hub-signature-256': `sha256=${digest}00` },
  'a digest of SHA-1 only': { 'x-hub-signature': `sha1=${'0'.repeat(40)}` },
  'a hash without a key': { 'x-hub-signature-256': `sha256=${sha256(body)}` },
  'a digest twice': { 'x-hub-signature-256': `sha256=${digest}, sha256=${digest}` },
  'a wrong digest before a right one': { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}, sha256=${digest}` },
  'a digest in base64': { 'x-hub-signature-256': `sha256=${hmac(body, secret, 'base64')}` },
  'a digest of SHA-512': { 'x-hub-signature-256': `sha512=${createHmac('sha512', secret).update(body).digest('hex')}` },
  'a digest of SHA-512 that is called SHA-256': {
    'x-hub-signature-256': `sha256=${createHmac('sha512', secret).update(body).digest('hex')}`,
  },
  'a token twice': { 'x-gitlab-token': `${secret}, ${secret}` },
  'a digest of no secret': { 'x-hub-signature-256': `sha256=${hmac(body, '')}` },
  'the secret as a digest': { 'x-hub-signature-256': `sha256=${secret}` },
  'a wrong digest beside a right token': {
    'x-hub-signature-256': `sha256=${'0'.repeat(64)}`,
    'x-gitlab-token': secret,
  },
  'another token': { 'x-gitlab-token': 'another-token' },
  'the beginning of the token': { 'x-gitlab-token': secret.slice(0, -1) },
  'a token in another case': { 'x-gitlab-token': secret.toUpperCase() },
  'a plain digest of another secret': { 'x-webhook-signature': hmac(body, 'another-secret') },
  'a digest whose time has passed': timed(seconds(-301)),
  'a digest whose time is to come': timed(seconds(301)),
  'a digest with another time than the signed one': { ...timed(seconds(-400)), 'x-webhook-timestamp': seconds() },
  'a digest without its time': { 'x-webhook-signature-v2': timed(seconds())['x-webhook-signature-v2'] },
  'a time that is no number': timed('now'),
  'a signature of Stripe that is replayed': stripe(seconds(-301)),
  'a signature of Stripe with another secret': stripe(seconds(), 'another-secret'),
  'a signature of Stripe without a time': { 'stripe-signature': `v1=${hmac(`.${body}`)}` },
  'a signature of Stripe of version 0 only': {
    'stripe-signature': `t=${seconds()},v0=${hmac(`${seconds()}.${body}`)}`,
  },
  'a signature of Slack that is replayed': slack(seconds(-301)),
  'a signature of Slack with another secret': slack(seconds(), 'another-secret'),
  'a signature of Standard Webhooks that is replayed': standard(seconds(-301)),
  'a signature of Standard Webhooks with another id': { ...standard(seconds()), 'webhook-id': 'msg_2' },
  'a signature of Standard Webhooks without an id': { ...standard(seconds()), 'webhook-id': '' },
  'a bearer token of the gateway': { authorization: 'Bearer test-token-of-sufficient-length' },
  'a token with another scheme': { authorization: `Basic ${secret}` },
}

test('a route accepts each form of a signature', async (t) => {
  for (const [name, headers] of Object.entries(accepted)) {
    const { post, gateway } = await startWebhooks(t, { ci: {} })
    const response = await post('ci', { body, headers })
    assert.equal(response.status, 202, name)
    assert.equal(gateway.ingestedEvents.length, 1, name)
  }
})

test('a forged request is refused, and nothing of it is stored', async (t) => {
  const { post, gateway } = await startWebhooks(t, { ci: {} }, { options: { rate_limit: 1 } })
  assert.ok(Object.keys(forged).length >= 30)
  for (const [name, headers] of Object.entries(forged)) {
    assert.equal((await post('ci', { body, headers })).status, 401, name)
  }
  assert.equal(gateway.attempts(), 0)
  // They have not used up the limit of the sender.
  assert.equal((await post('ci', github(body))).status, 202)
  assert.ok(gateway.logLines.every((line) => !line.includes(secret)))
})

const malformed: Readonly<Record<string, readonly [TestRequest, number]>> = {
  text: [github('hello'), 400],
  'half an object': [github('{"a": '), 400],
  'a number': [github('7'), 400],
  null: [github('null'), 400],
  nothing: [github(''), 400],
  'ten thousand brackets': [github('['.repeat(10_000)), 400],
  'a deep object that is closed': [github(`${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`), 400],
  'bytes that are no text': [{ body: Buffer.from([0xff, 0xfe, 0x00]), headers: { 'x-gitlab-token': secret } }, 400],
  'more than 1 MB': [github({ text: 'x'.repeat(1_048_576) }), 413],
  'a small body that is declared as large': [
    { body, headers: { 'x-gitlab-token': secret, 'content-length': '99999999' } },
    413,
  ],
  'a form without JSON in it': [
    {
      body: 'payload=%7B',
      headers: { 'x-gitlab-token': secret, 'content-type': 'application/x-www-form-urlencoded' },
    },
    400,
  ],
}

test('a malformed or too large body is refused with its reason', async (t) => {
  const { post, gateway } = await startWebhooks(t, { ci: {} })
  for (const [name, [request, status]] of Object.entries(malformed)) {
    assert.equal((await post('ci', request)).status, status, name)
  }
  assert.equal(gateway.attempts(), 0)
})

test('an unknown route, and a name that is no route, are not found', async (t) => {
  const { post } = await startWebhooks(t, { ci: {} })
  for (const name of ['other', '', '__proto__', 'constructor', 'ci/x', 'CI', '..%2Fci'])
    assert.equal((await post(name, github(body))).status, 404, name)
})

test('a repeated delivery answers as a duplicate, also under another id', async (t) => {
  const { post, gateway } = await startWebhooks(t, { ci: {}, other: {}, later: { coalesce: { key: 'number' } } })
  const first = github(body)
  assert.equal((await post('ci', first)).status, 202)
  const again = await post('ci', first)
  assert.equal(again.status, 200)
  assert.equal(await statusOf(again), 'duplicate')
  // The id of GitHub is not signed.
  assert.equal(await statusOf(await post('ci', github(body, { id: 'delivery-2' }))), 'duplicate')
  assert.equal(await statusOf(await post('other', first)), 'accepted')
  assert.equal(await statusOf(await post('later', first)), 'coalesced')
  assert.equal(await statusOf(await post('later', github(body, { id: 'delivery-2' }))), 'duplicate')
  assert.deepEqual(
    gateway.ingestedEvents.map(({ accepted: { status } }) => status),
    ['accepted', 'duplicate', 'duplicate', 'accepted'],
  )
})

test('the same text twice is two events where the sender names them so, or names nothing', async (t) => {
  const { post } = await startWebhooks(t, { ci: {} })
  for (const request of [plain({ a: 1 }, 'one'), plain({ a: 1 }, 'two'), plain({ a: 1 }), plain({ a: 1 })])
    assert.equal((await post('ci', request)).status, 202)
  assert.equal((await post('ci', plain({ a: 1 }, 'two'))).status, 200)
})

test('an event that cannot be stored is not acknowledged', async (t) => {
  const { post, gateway } = await startWebhooks(t, { ci: {} })
  gateway.failNextAccept(new HermesError('store/full'))
  await assert.rejects(post('ci', github(body)), { code: 'store/full' })
  gateway.failNextAccept(new HermesError('inbox/too-large'))
  assert.equal((await post('ci', github(body))).status, 413)
  assert.equal((await post('ci', github(body))).status, 202)
})

test('a route accepts thirty events in a minute, each route on its own', async (t) => {
  const { post, clock } = await startWebhooks(t, { ci: {}, other: {} })
  const statuses: number[] = []
  for (let id = 0; id < 1_000; id += 1) statuses.push((await post('ci', github({ id }, { id: `d${id}` }))).status)
  assert.equal(statuses.filter((status) => status === 202).length, 30)
  assert.equal(statuses.filter((status) => status === 429).length, 970)
  assert.equal((await post('other', github(body))).status, 202)
  const refused = await post('ci', github(body))
  assert.equal(refused.headers.get('retry-after'), '60')
  clock.advance(60_000)
  assert.equal((await post('ci', github(body))).status, 202)
})

test('a route without verification works on this machine only, and not behind a proxy', async (t) => {
  const routes = { open: { secret: 'INSECURE_NO_AUTH' } }
  const local = await startWebhooks(t, routes)
  assert.equal((await local.post('open', { body })).status, 202)
  assert.equal((await local.post('open', { body, headers: { 'x-forwarded-for': '198.51.100.7' } })).status, 401)
  const open = await startWebhooks(t, routes, { isLocal: false })
  assert.equal((await open.post('open', { body })).status, 404)
  assert.match(open.gateway.healthReports[0]?.reason ?? '', /INSECURE_NO_AUTH/)
})

test('a route that cannot be used is named, and the others work', async (t) => {
  const routes = {
    'no-secret': { secret: '' },
    short: { secret: 'abc' },
    both: { deliver_only: true, deliver: 'fake', cron_job: 'x' },
    nowhere: { deliver_only: true },
    comment: { deliver: 'github_comment' },
    pattern: { filters: [{ field: 'a', regex: '(' }] },
    typo: { filters: [{ field: 'a', equal: 1 }] },
    Upper: {},
    ci: {},
  }
  const { post, gateway } = await startWebhooks(t, routes, { options: { secret: '' } })
  assert.equal(gateway.healthReports[0]?.state, 'degraded')
  assert.equal((await post('comment', github(body))).status, 404)
  const { post: postSecret } = await startWebhooks(t, routes)
  assert.equal((await postSecret('ci', github(body))).status, 202)
  for (const name of ['short', 'both', 'nowhere', 'comment', 'pattern', 'typo', 'Upper'])
    assert.equal((await postSecret(name, github(body))).status, 404, name)
})

async function statusOf(response: Response): Promise<unknown> {
  return Object(await response.json()).status
}

test('of a thousand events in a second a route takes thirty, and the others are told to come again', async (t) => {
  const { post, gateway } = await startWebhooks(t, { ci: {} })
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, number) => post('ci', github({ number }, { id: `d${number}` }))),
  )
  const taken = answers.filter(({ status }) => status === 202)
  const refused = answers.filter(({ status }) => status === 429)
  assert.deepEqual([taken.length, refused.length, gateway.ingestedEvents.length], [30, 970, 30])
  assert.ok(refused.every(({ headers }) => Number(headers.get('retry-after')) > 0))
})

test('a thousand events in a second that a route permits are each taken once, and one that is repeated is not', async (t) => {
  const { post, gateway } = await startWebhooks(t, { ci: {} }, { options: { rate_limit: 10_000 } })
  const send = (number: number) => post('ci', github({ number }, { id: `d${number}` }))
  const answers = await Promise.all(Array.from({ length: 1_000 }, (_, number) => send(number)))
  assert.ok(answers.every(({ status }) => status === 202))
  assert.equal(gateway.ingestedEvents.length, 1_000)
  const again = await Promise.all(Array.from({ length: 1_000 }, (_, number) => send(number)))
  assert.ok(again.every(({ status }) => status === 200))
})
