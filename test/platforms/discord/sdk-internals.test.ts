/**
 * What the adapter relies on in discord.js beyond its documentation. When one of these tests fails after an update of
 * discord.js, `platforms/discord/connection/` has to be adapted.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { Client, Events, SimpleShardingStrategy } from 'discord.js'
import { WebSocketServer } from 'ws'
import { startDiscordServer } from '../../kit/servers/discord/server.ts'
import { startDiscordTest, until } from './support.ts'

type Manager = ConstructorParameters<typeof SimpleShardingStrategy>[0]

/** A plain `Client` that shows what its strategy is given, and which events pass `manager.emit`. */
async function startClient(t: TestContext) {
  const discord = await startDiscordServer()
  const events: string[] = []
  const managers: Manager[] = []
  let sessionLookups = 0
  const client = new Client({
    intents: 1,
    shards: [0],
    rest: { api: discord.apiUrl },
    ws: {
      buildStrategy(manager) {
        managers.push(manager)
        const view: Manager = Object.create(manager, {
          options: {
            value: {
              ...manager.options,
              retrieveSessionInfo(shard: number) {
                sessionLookups += 1
                return manager.options.retrieveSessionInfo(shard)
              },
            },
          },
          emit: {
            value: (event: string, payload: unknown) => {
              events.push(event)
              return manager.emit(event, payload)
            },
          },
        })
        return new SimpleShardingStrategy(view)
      },
    },
  })
  t.after(async () => {
    await client.destroy()
    await discord.close()
  })
  return { discord, client, events, managers, sessionLookups: () => sessionLookups }
}

describe('discord.js still', () => {
  test('passes its manager with these options and functions to `ws.buildStrategy`', async (t) => {
    const { client, discord, managers } = await startClient(t)
    await client.login(discord.bot.token)
    const [manager] = managers
    assert.ok(manager, 'ws.buildStrategy was not called')
    const names = ['shardCount', 'identifyProperties', 'handshakeTimeout', 'helloTimeout', 'compression'] as const
    for (const name of names) assert.ok(name in manager.options, `the option ${name} is missing`)
    assert.equal(typeof manager.options.retrieveSessionInfo, 'function')
    assert.equal(typeof manager.options.updateSessionInfo, 'function')
    assert.equal(typeof manager.fetchGatewayInformation, 'function')
  })

  test('requests the session before it connects, and emits every event of a shard through `manager.emit`', async (t) => {
    const { client, discord, events, sessionLookups } = await startClient(t)
    const ready = once(client, Events.ClientReady)
    const login = client.login(discord.bot.token)
    await until(() => sessionLookups() > 0 || discord.gateway.connections() > 0, discord)
    assert.ok(sessionLookups() > 0, 'it connected without asking for the session')
    await Promise.all([login, ready])
    for (const name of ['hello', 'ready', 'dispatch']) assert.ok(events.includes(name), `no event ${name}`)
    assert.ok(events.indexOf('ready') < events.indexOf('dispatch'), '`ready` no longer precedes the first dispatch')
  })

  test('reports close codes after which it does not reconnect as `shardDisconnect`', async (t) => {
    for (const code of [4004, 4010, 4011, 4012, 4013, 4014]) {
      const { client, discord } = await startClient(t)
      await client.login(discord.bot.token)
      const disconnected = once(client, Events.ShardDisconnect)
      client.on(Events.ShardError, () => undefined)
      discord.gateway.close(code)
      const [event] = await disconnected
      assert.equal(event.code, code)
    }
  })

  test('reconnects by itself after other close codes', async (t) => {
    const { client, discord } = await startClient(t)
    await client.login(discord.bot.token)
    const reconnecting = once(client, Events.ShardReconnecting)
    discord.gateway.close(4000)
    await reconnecting
    await until(() => discord.gateway.counts.resumed === 1, discord)
  })
})

test('a session is identified as hermes-gateway, with one shard, without compression and with our intents', async (t) => {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  t.after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const { discord, createAnother } = await startDiscordTest(t, { connect: false })
  discord.faults.respond('GET /gateway/bot', {
    status: 200,
    body: {
      url: `ws://127.0.0.1:${address.port}`,
      shards: 16,
      session_start_limit: { total: 1_000, remaining: 1_000, reset_after: 0, max_concurrency: 1 },
    },
  })
  const identified = Promise.withResolvers<unknown>()
  server.on('connection', (socket, request) => {
    assert.match(request.url ?? '', /\?v=10&encoding=json$/)
    socket.on('message', (data) => identified.resolve(JSON.parse(String(data))))
    socket.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 60_000 } }))
  })
  const cancel = new AbortController()
  const connecting = createAnother().connect(cancel.signal)
  assert.deepEqual(await identified.promise, {
    op: 2,
    d: {
      token: discord.bot.token,
      properties: { browser: 'hermes-gateway', device: 'hermes-gateway', os: process.platform },
      intents: 46_593,
      compress: false,
      shard: [0, 1],
    },
  })
  cancel.abort()
  await assert.rejects(connecting)
})

test('messages do not reach the caches of the `Client`, and a malformed payload is harmless', async (t) => {
  const { discord, gateway, ada, dm } = await startDiscordTest(t)
  for (const type of ['MESSAGE_CREATE', 'GUILD_CREATE', 'CHANNEL_UPDATE', 'INTERACTION_CREATE', 'THREAD_LIST_SYNC']) {
    for (const payload of [{}, { id: 7, guild_id: [], channels: 'none', threads: {} }]) {
      discord.gateway.dispatch(discord.bot, type, payload, 0)
    }
  }
  discord.say(ada, dm, 'still here')
  await until(() => gateway.ingestedEvents.some(({ event }) => event.text === 'still here'), gateway, discord)
  assert.equal(discord.gateway.counts.identified, 1)
})
