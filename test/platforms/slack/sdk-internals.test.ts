/**
 * connection/socket-mode.ts uses internals of the Slack SDK that its documentation does not promise. When one of these
 * tests fails after an update of the SDK, check that file before you adjust the test.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SocketModeReceiver, webApi } from '@slack/bolt'

const check = 'the Slack SDK has changed: check platforms/slack/connection/socket-mode.ts'

/** The manifest or a source file of a package of the SDK, as Bolt resolves it. */
function readPackageFile(name: string, path: string): string {
  const bolt = import.meta.resolve('@slack/bolt')
  let directory = new URL('.', import.meta.resolve(name, bolt))
  // `dist` has a package.json without a name.
  while (!directory.pathname.endsWith(`/${name}/`)) directory = new URL('..', directory)
  return readFileSync(fileURLToPath(new URL(path, directory)), 'utf8')
}

test('the SDK has the versions for which these internals were checked', () => {
  const versions: readonly (readonly [string, RegExp])[] = [
    ['@slack/bolt', /^5\.1\./],
    ['@slack/socket-mode', /^3\.1\./],
    ['@slack/web-api', /^8\.2\./],
  ]
  for (const [name, expected] of versions) {
    const { version } = JSON.parse(readPackageFile(name, 'package.json'))
    assert.match(
      version,
      expected,
      `${check}; ${name} is at ${version}: verify the internals, then raise the version here`,
    )
  }
})

test('the receiver exposes the client of Socket Mode', () => {
  const { client } = createReceiver()
  for (const method of ['start', 'disconnect', 'on', 'listeners', 'removeAllListeners'] as const) {
    assert.equal(typeof client[method], 'function', `${check}; the client has no ${method}()`)
  }
  assert.equal('websocket' in client, true, `${check}; the client has no property websocket`)
})

test('one listener of ws_message parses frames, and its events have the expected shape', async () => {
  const { client } = createReceiver()
  const listeners = client.listeners('ws_message')
  assert.equal(listeners.length, 1, `${check}; ws_message has ${listeners.length} listeners of the SDK instead of one`)
  const events: unknown[] = []
  client.on('slack_event', (event: unknown) => void events.push(event))
  const frame = { type: 'events_api', envelope_id: 'e', payload: { event: { type: 'message' } }, retry_attempt: 2 }
  await listeners[0]?.(JSON.stringify(frame), false)
  const [event] = events
  assert.ok(typeof event === 'object' && event !== null, `${check}; a frame causes no slack_event`)
  assert.ok('ack' in event && typeof event.ack === 'function', `${check}; slack_event has no ack()`)
  assert.deepEqual('body' in event ? event.body : undefined, frame.payload, `${check}; slack_event has no body`)
  assert.equal('retry_num' in event ? event.retry_num : undefined, 2, `${check}; slack_event has no retry_num`)
})

test('the SDK names the events, the timer and the channels that the adapter uses', () => {
  const client = readPackageFile('@slack/socket-mode', 'dist/src/SocketModeClient.js')
  const socket = readPackageFile('@slack/socket-mode', 'dist/src/SlackWebSocket.js')
  assert.match(socket, /emit\('ws_message', event\.data, isBinary\)/, `${check}; frames are not emitted as ws_message`)
  assert.match(socket, /this\.closeHandshakeTimeout = setTimeout\(/, `${check}; the timer of the close handshake`)
  for (const channel of ['undici:websocket:ping', 'undici:websocket:pong']) {
    assert.ok(socket.includes(`'${channel}'`), `${check}; the SDK does not subscribe to ${channel}`)
  }
  for (const state of ['Connecting', 'Authenticated', 'Disconnected']) {
    assert.match(client, new RegExp(`State\\.${state}\\b`), `${check}; the client has no state ${state}`)
  }
})

test('the Web API client calls the configured fetch, and reports errors with code and data', async () => {
  const responses = [{ ok: false, error: 'invalid_auth' }]
  const client = new webApi.WebClient('token', {
    retryConfig: { retries: 0 },
    fetch: async () => Response.json(responses[0]),
  })
  const error: unknown = await client.apiCall('auth.test').catch((thrown: unknown) => thrown)
  assert.ok(typeof error === 'object' && error !== null)
  const message = 'the Slack SDK has changed: check platforms/slack/errors.ts and connection/transport.ts'
  assert.equal('code' in error ? error.code : undefined, 'slack_webapi_platform_error', message)
  assert.partialDeepStrictEqual('data' in error ? error.data : undefined, { error: 'invalid_auth' }, message)
})

function createReceiver(): SocketModeReceiver {
  return new SocketModeReceiver({ appToken: 'xapp-test', autoReconnectEnabled: false, logger: silentLogger })
}

const ignore = () => undefined
const silentLogger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  setLevel: ignore,
  getLevel: () => webApi.LogLevel.ERROR,
  setName: ignore,
}
