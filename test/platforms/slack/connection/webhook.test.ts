/**
 * Requests over HTTP: only those that Slack has signed, and lately.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { verifySignature } from '../../../../platforms/slack/connection/signature.ts'
import { createWebhookRoute } from '../../../../platforms/slack/connection/webhook.ts'
import type { IngestResult } from '../../../../platforms/slack/inbound/ingest.ts'
import { createLog } from '../../../../src/lib/log-writer.ts'
import { createRecordingContext } from '../../../kit/recording-context.ts'
import { signatureOf } from '../../../kit/servers/slack/delivery.ts'
import {
  slackNow as now,
  type SlackRequest,
  signingSecret as secret,
  slackForgeries,
  validSlackRequest,
} from './forgeries.ts'

describe('the signature', () => {
  // The example of Slack's own documentation.
  const body = Buffer.from(
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  )
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503'
  const request = { timestamp: '1531420618', signature, body }

  test('is verified as Slack documents it', () => assert.equal(verifySignature(request, secret, now), true))

  const refused: readonly [what: string, is: boolean][] = [
    ['another body', verifySignature({ ...request, body: Buffer.from('token=x') }, secret, now)],
    ['another secret', verifySignature(request, `${secret}x`, now)],
    ['no secret', verifySignature(request, '', now)],
    ['another time than the signed one', verifySignature({ ...request, timestamp: '1531420619' }, secret, now)],
    ['a request six minutes old', verifySignature(request, secret, now + 6 * 60_000)],
    ['a request from the future', verifySignature(request, secret, now - 6 * 60_000)],
    ['no signature', verifySignature({ ...request, signature: null }, secret, now)],
    ['no time', verifySignature({ ...request, timestamp: null }, secret, now)],
    ['a time that is none', verifySignature({ ...request, timestamp: 'now' }, secret, now)],
    ['a signature that is too short', verifySignature({ ...request, signature: 'v0=a2' }, secret, now)],
    [
      'a signature of another version',
      verifySignature({ ...request, signature: signature.replace('v0', 'v1') }, secret, now),
    ],
  ]
  for (const [what, is] of refused) test(`refuses ${what}`, () => assert.equal(is, false))
})

describe('the route', () => {
  interface Asked {
    readonly type?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly receipt?: IngestResult
  }

  async function ask(body: string, { type = 'application/json', headers = {}, receipt }: Asked = {}) {
    const received: unknown[] = []
    const { context } = createRecordingContext()
    const route = createWebhookRoute({ ...context, clock: () => now }, secret, {
      async ingest(payload) {
        received.push(payload)
        return receipt ?? { acknowledge: true }
      },
    })
    const signed = signatureOf(body, secret, now / 1_000)
    const request = new Request('http://gateway.test/webhooks/slack', {
      method: 'POST',
      body,
      headers: { 'content-type': type, ...signed, ...headers },
    })
    const response = await route.handle(request)
    return { status: response.status, text: await response.text(), received, route }
  }

  test('has a path for each account and its own access check', async () => {
    const { route } = await ask('{}')
    assert.deepEqual([route.method, route.path, route.access], ['POST', '/webhooks/slack', 'own'])
  })

  test('responds to the URL verification', async () => {
    const { status, text, received } = await ask(JSON.stringify({ type: 'url_verification', challenge: 'c1' }))
    assert.deepEqual([status, text, received], [200, 'c1', []])
  })

  test('refuses a request without a valid signature', async () => {
    const { status, received } = await ask('{"type":"event_callback"}', { headers: { 'x-slack-signature': 'v0=00' } })
    assert.deepEqual([status, received], [401, []])
  })

  test('accepts no forged request, and the genuine one', async () => {
    const received: unknown[] = []
    const { context } = createRecordingContext()
    const connection = { ...context.connection, received: () => void received.push('activity') }
    const { handle } = createWebhookRoute({ ...context, clock: () => now, connection }, secret, {
      async ingest(payload) {
        received.push(payload)
        return { acknowledge: true }
      },
    })
    const send = async ({ body, timestamp, signature }: SlackRequest) => {
      const headers = new Headers({ 'content-type': 'application/json' })
      if (timestamp !== undefined) headers.set('x-slack-request-timestamp', timestamp)
      if (signature !== undefined) headers.set('x-slack-signature', signature)
      return (await handle(new Request('http://gateway.test/webhooks/slack', { method: 'POST', body, headers }))).status
    }
    for (const [name, forged] of Object.entries(slackForgeries)) assert.equal(await send(forged), 401, name)
    assert.deepEqual(received, [])
    assert.equal(await send(validSlackRequest), 200)
    assert.equal(received.length, 2)
  })

  test('accepts events, including repeated ones', async () => {
    const headers = { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' }
    const { status, received } = await ask('{"type":"event_callback"}', { headers })
    assert.deepEqual([status, received], [200, [{ type: 'event_callback' }]])
  })

  test('responds with an error when an event was not stored', async () => {
    assert.equal((await ask('{"type":"event_callback"}', { receipt: { acknowledge: false } })).status, 503)
  })

  test('accepts interactions and slash commands as forms', async () => {
    const type = 'application/x-www-form-urlencoded'
    const press = await ask(String(new URLSearchParams({ payload: '{"type":"block_actions"}' })), { type })
    assert.deepEqual(press.received, [{ type: 'block_actions' }])
    const command = await ask('command=%2Fhermes&text=a+b', { type, receipt: { acknowledge: true, reply: 'Got it' } })
    assert.deepEqual(command.received, [{ command: '/hermes', text: 'a b' }])
    assert.deepEqual(JSON.parse(command.text), { response_type: 'ephemeral', text: 'Got it' })
  })

  test('refuses a body of an unknown format', async () => {
    assert.equal((await ask('not json')).status, 400)
    assert.equal((await ask('[1]')).status, 400)
  })
})

describe('requests with a wrong signature', () => {
  const reason = 'requests have a wrong signature; check signing_secret'

  function open() {
    const lines: string[] = []
    const healths: string[] = []
    let at = now
    const log = createLog({
      level: 'debug',
      pretty: false,
      stream: { write: (line: string) => lines.push(line) },
      redactor: (line) => line,
    })
    const { context } = createRecordingContext()
    const connection = {
      ...context.connection,
      health: (state: string, why = '') => void healths.push(`${state} ${why}`.trim()),
    }
    const route = createWebhookRoute({ ...context, clock: () => at, log, connection }, secret, {
      ingest: async () => ({ acknowledge: true }),
    })
    const post = async (headers: Readonly<Record<string, string>>) => {
      const body = '{"type":"event_callback"}'
      return await route.handle(new Request('http://gateway.test/webhooks/slack', { method: 'POST', body, headers }))
    }
    return {
      lines,
      healths,
      later(ms: number) {
        at += ms
      },
      right: () => post(signatureOf('{"type":"event_callback"}', secret, at / 1_000)),
      wrong: () => post(signatureOf('{"type":"event_callback"}', 'another secret', at / 1_000)),
      unsigned: () => post({}),
    }
  }

  test('are logged once an hour with their number', async () => {
    const { lines, later, wrong, unsigned } = open()
    for (let sent = 0; sent < 100; sent += 1) await unsigned()
    assert.equal(lines.length, 1)
    later(3_600_000)
    await wrong()
    await wrong()
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).requests),
      [1, 100],
    )
  })

  test('degrade the health until a valid request arrives', async () => {
    const { healths, right, wrong } = open()
    await wrong()
    assert.deepEqual(healths, [`degraded ${reason}`])
    await right()
    await right()
    assert.deepEqual(healths, [`degraded ${reason}`, 'connected'])
  })

  test('do not degrade the health after a valid request, or when unsigned', async () => {
    const { healths, right, wrong, unsigned } = open()
    await unsigned()
    await right()
    await wrong()
    await unsigned()
    assert.deepEqual(healths, [])
  })
})
