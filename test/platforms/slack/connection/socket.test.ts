/**
 * The socket to Slack: overlapping, cut, silent, refused, stopped in the middle.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { LogLevel, SocketModeReceiver } from '@slack/bolt'
import { createSocketConnection } from '../../../../platforms/slack/connection/socket.ts'
import { openSocketMode } from '../../../../platforms/slack/connection/socket-mode.ts'
import { createRecordingContext } from '../../../kit/recording-context.ts'
import type { SlackServer } from '../../../kit/servers/slack/slack-server.ts'
import { ada, direct, neverAborted, startSlackTest } from '../support.ts'

test('a second socket is open before the first is closed after a warning', async (t) => {
  const { server, gateway } = await startSlackTest(t)
  const counts: number[] = []
  server.workspace.onChange(() => counts.push(server.delivery.sockets()))
  const most = server.until(() => (server.delivery.sockets() === 2 ? true : undefined))
  server.delivery.warn('warning')
  await most
  await server.socketsOpen(1)
  assert.equal((await server.say(direct, ada, 'still there?')).acknowledged, true)
  assert.equal(gateway.ingestedEvents.length, 1)
  assert.deepEqual(
    gateway.healthReports.filter(({ state }) => state === 'degraded'),
    [],
  )
})

test('events of the old socket are acknowledged on it', async (t) => {
  const { server, gateway } = await startSlackTest(t, { server: { redeliverMs: 10_000 } })
  const release = gateway.holdAccepts()
  const arrived = gateway.nextAttempt()
  const saying = server.say(direct, ada, 'in between')
  await arrived
  server.delivery.warn('refresh_requested')
  await server.socketsOpen(2)
  release()
  assert.equal((await saying).acknowledged, true)
  await server.socketsOpen(1)
  assert.equal(gateway.attempts(), 1)
})

test('a socket is replaced before its lifetime ends', async (t) => {
  const { server } = await startSlackTest(t, { server: { socketSeconds: 0.2 } })
  await server.socketsOpen(2)
  // It goes on doing so; what matters is that there is never none.
  for (let round = 0; round < 3; round += 1)
    await server.until(() => (server.delivery.sockets() > 0 ? true : undefined))
  assert.equal((await server.say(direct, ada, 'hello')).acknowledged, true)
})

test('a lost connection is reopened, and missed messages are accepted once', async (t) => {
  const { server, gateway } = await startSlackTest(t)
  await server.say(direct, ada, 'before')
  server.delivery.cut()
  const saying = server.say(direct, ada, 'meanwhile')
  assert.equal((await saying).acknowledged, true)
  const accepted = gateway.ingestedEvents.filter(({ accepted: { status } }) => status === 'accepted')
  assert.deepEqual(
    accepted.map(({ event }) => event.text),
    ['before', 'meanwhile'],
  )
})

test('a dead connection is detected by unanswered pings', async (t) => {
  const { server } = await startSlackTest(t, { connect: false })
  let activityCount = 0
  const receiver = new SocketModeReceiver({
    appToken: server.appToken,
    autoReconnectEnabled: false,
    clientPingTimeout: 200,
    logLevel: LogLevel.ERROR,
    logger: silentSdk,
    installerOptions: { clientOptions: { slackApiUrl: server.apiUrl } },
  })
  const onActivity = () => {
    activityCount += 1
  }
  const events = { onEnvelope: async () => undefined, onDisconnectWarning: () => undefined, onActivity }
  const socket = await openSocketMode(receiver, events, neverAborted)
  t.after(() => socket.close())
  // The greeting, then answered pings.
  await server.until(() => (activityCount >= 3 ? true : undefined), 20)
  server.faults.startOutage('silent')
  await socket.closed
  await server.faults.endOutage()
})

test('opening a socket is retried after failures, and respects rate limits', async (t) => {
  const { server, gateway } = await startSlackTest(t)
  server.faults.respond('apps.connections.open', { status: 500, body: 'oops' }, 2)
  await cutAll(server)
  await server.socketsOpen(1)
  assert.match(gateway.healthReports.find(({ state }) => state === 'degraded')?.reason ?? '', /\b500\b/)
  const window = server.faults.limit({ on: 'apps.connections.open', ms: 1_000 })
  await cutAll(server)
  await server.socketsOpen(1)
  assert.equal(window.earlyCalls(), 0)
  assert.equal(window.refused(), 1)
  assert.equal((await server.say(direct, ada, 'hello')).acknowledged, true)
})

test('sockets that close at once are reopened with a delay', async (t) => {
  const pauses: number[] = []
  const opened: ReturnType<typeof openedSocket>[] = []
  const { context } = createRecordingContext({ platform: 'slack' })
  const socket = createSocketConnection(
    { ...context, clock: () => 0 },
    async () => {
      const next = openedSocket()
      opened.push(next)
      return next
    },
    { onEnvelope: async () => undefined, onDisconnected: () => undefined, onReconnected: () => undefined },
    async (ms, signal) => {
      if (signal !== undefined && ms > 60_000) return await new Promise(() => undefined)
      pauses.push(ms)
    },
  )
  t.after(() => socket.stop())
  await socket.connect(neverAborted)
  for (let round = 0; round < 5; round += 1) {
    opened.at(-1)?.close()
    await setImmediate()
  }
  assert.equal(opened.length, 6)
  // The first reconnect is immediate, the following ones have increasing delays.
  assert.deepEqual(pauses, [250, 500, 1_000, 2_000])
})

test('a stop while a socket opens leaves no unhandled rejection', async (t) => {
  const { server, adapter, gateway } = await startSlackTest(t, { connect: false })
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  const release = server.faults.hold('apps.connections.open')
  const connecting = adapter.connect(neverAborted).then(
    () => 'connected',
    (error) => error,
  )
  await server.until(() => (server.faults.calls('apps.connections.open') > 0 ? true : undefined), 20)
  await adapter.disconnect()
  release()
  assert.ok((await connecting) instanceof Error)
  assert.equal(server.delivery.sockets(), 0)
  assert.equal(gateway.attempts(), 0)
  assert.deepEqual(unhandled, [])
})

test('a stop during a reconnect leaves no unhandled rejection and no socket', async (t) => {
  const { server, adapter } = await startSlackTest(t)
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  server.delivery.cut()
  await server.until(() => (server.faults.calls('apps.connections.open') > 1 ? true : undefined), 5)
  await adapter.disconnect()
  await server.until(() => (server.delivery.sockets() === 0 ? true : undefined), 20)
  assert.deepEqual(unhandled, [])
})

test('a revoked token stops the account and is named', async (t) => {
  const { server, gateway } = await startSlackTest(t)
  server.refuseTokens()
  await cutAll(server)
  const reason = await server.until(() => gateway.refusals[0], 10)
  assert.match(reason, /app_token: .*invalid_auth/)
})

test('invalid frames are ignored', async (t) => {
  const { server } = await startSlackTest(t)
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  t.after(() => process.off('unhandledRejection', note))
  for (const frame of ['not json', '{}', '{"type":"events_api"}', '{"type":"events_api","payload":{}}', 'null', '[]']) {
    server.delivery.raw(frame)
  }
  assert.equal((await server.say(direct, ada, 'hello')).acknowledged, true)
  assert.deepEqual(unhandled, [])
})

async function cutAll(server: SlackServer): Promise<void> {
  server.delivery.cut()
  await server.socketsOpen(0)
}

function openedSocket() {
  const closed = Promise.withResolvers<string>()
  return { closed: closed.promise, lifetimeMs: undefined, close: () => closed.resolve('left') }
}

const nothing = () => undefined
const silentSdk = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  getLevel: () => LogLevel.ERROR,
  setName: nothing,
}
