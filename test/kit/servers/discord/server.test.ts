/**
 * Checks the local Discord server against the documentation, with `fetch` and a WebSocket only.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import WebSocket from 'ws'
import { type DiscordServer, type DiscordServerOptions, startDiscordServer } from './server.ts'

const everything = 46_593

async function discordFor(t: TestContext, options: DiscordServerOptions = {}) {
  const discord = await startDiscordServer(options)
  t.after(discord.close)
  const call = async (method: string, path: string, body?: unknown, token = discord.bot.token) => {
    const response = await fetch(`${discord.apiUrl}/v10${path}`, {
      method,
      headers: { authorization: `Bot ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  return { discord, call }
}

/** A client that sends frames and collects received ones. */
async function client(t: TestContext, { bot, ...discord }: DiscordServer, intents = everything) {
  const headers = { authorization: `Bot ${bot.token}` }
  const { url } = Object(await (await fetch(`${discord.apiUrl}/v10/gateway/bot`, { headers })).json())
  const socket = new WebSocket(`${url}?v=10&encoding=json`)
  t.after(() => socket.terminate())
  const heard: { op: number; t?: string; s?: number; d: Record<string, unknown> }[] = []
  let wake = Promise.withResolvers<void>()
  socket.on('message', (data) => {
    heard.push(JSON.parse(String(data)))
    wake.resolve()
    wake = Promise.withResolvers()
  })
  const hear = async (fits: (one: (typeof heard)[number]) => boolean) => {
    for (;;) {
      const found = heard.find(fits)
      if (found !== undefined) return found
      await wake.promise
    }
  }
  const send = (payload: unknown) => socket.send(JSON.stringify(payload))
  await hear(({ op }) => op === 10)
  return {
    heard,
    hear,
    send,
    socket,
    identify: (token = bot.token) => send({ op: 2, d: { token, intents, properties: {} } }),
    closed: async () => Number((await once(socket, 'close'))[0]),
  }
}

test('a session begins with hello, READY and the servers, and every event has its number', async (t) => {
  const { discord } = await discordFor(t)
  const { identify, hear, heard } = await client(t, discord)
  identify()
  const ready = await hear((one) => one.t === 'READY')
  const guild = await hear((one) => one.t === 'GUILD_CREATE')
  assert.deepEqual([heard[0]?.d['heartbeat_interval'], ready.s, guild.s], [41_250, 1, 2])
  assert.equal(Object(ready.d['user']).id, discord.bot.user.id)
  assert.equal(guild.d['unavailable'], false)
})

test('a heartbeat is acknowledged', async (t) => {
  const { discord } = await discordFor(t)
  const { hear, send } = await client(t, discord)
  send({ op: 1, d: null })
  await hear(({ op }) => op === 11)
})

test('a resumed session receives missed events in order, and then RESUMED', async (t) => {
  const { discord } = await discordFor(t)
  const first = await client(t, discord)
  first.identify()
  const { d } = await first.hear((one) => one.t === 'READY')
  await first.hear((one) => one.t === 'GUILD_CREATE')
  first.socket.close(4_200)
  await once(first.socket, 'close')
  const ada = discord.person('Ada')
  for (const text of ['one', 'two']) discord.say(ada, discord.dm(ada), text)
  const second = await client(t, discord)
  second.send({ op: 6, d: { token: discord.bot.token, session_id: d['session_id'], seq: 2 } })
  await second.hear((one) => one.t === 'RESUMED')
  assert.deepEqual(
    second.heard.slice(1).map((one) => [one.t, one.s, one.d['content']]),
    [
      ['MESSAGE_CREATE', 3, 'one'],
      ['MESSAGE_CREATE', 4, 'two'],
      ['RESUMED', 5, undefined],
    ],
  )
})

test('a session that said goodbye cannot be resumed', async (t) => {
  const { discord } = await discordFor(t)
  const first = await client(t, discord)
  first.identify()
  const { d } = await first.hear((one) => one.t === 'READY')
  first.socket.close(1_000)
  await once(first.socket, 'close')
  const second = await client(t, discord)
  second.send({ op: 6, d: { token: discord.bot.token, session_id: d['session_id'], seq: 1 } })
  assert.equal(Object(await second.hear(({ op }) => op === 9)).d, false)
})

for (const [name, code, act] of [
  ['a wrong token', 4004, (one: Awaited<ReturnType<typeof client>>) => one.identify('wrong')],
  ['something before the identification', 4003, (one) => one.send({ op: 3, d: {} })],
  ['what is no JSON', 4002, (one) => one.socket.send('{')],
  [
    'a second identification',
    4005,
    async (one) => {
      one.identify()
      await one.hear(({ t: name }) => name === 'READY')
      one.identify()
    },
  ],
  ['too many frames', 4008, (one) => Array.from({ length: 121 }, () => one.send({ op: 1, d: null }))],
] as const satisfies readonly (readonly [string, number, (one: Awaited<ReturnType<typeof client>>) => unknown])[]) {
  test(`${name} closes the connection with ${code}`, async (t) => {
    const { discord } = await discordFor(t)
    const one = await client(t, discord)
    const closed = one.closed()
    await act(one)
    assert.equal(await closed, code)
  })
}

test('an intent that is not switched on closes the connection with 4014, an unknown one with 4013', async (t) => {
  const { discord } = await discordFor(t, { messageContent: false })
  for (const [intents, code] of [
    [everything, 4014],
    [1 << 30, 4013],
  ] as const) {
    const one = await client(t, discord, intents)
    const closed = one.closed()
    one.identify()
    assert.equal(await closed, code)
  }
})

test('without the intent the words of others are empty, unless they are meant for the bot', async (t) => {
  const { discord } = await discordFor(t)
  const { identify, hear, heard } = await client(t, discord, everything & ~(1 << 15))
  identify()
  await hear((one) => one.t === 'GUILD_CREATE')
  const ada = discord.person('Ada')
  discord.say(ada, discord.general, 'secret')
  discord.say(ada, discord.general, `<@${discord.bot.user.id}> hello`)
  discord.say(ada, discord.dm(ada), 'direct')
  await hear((one) => one.d?.['content'] === 'direct')
  const messages = heard.filter((one) => one.t === 'MESSAGE_CREATE').map(({ d }) => d)
  assert.deepEqual(
    messages.map(({ content }) => content),
    ['', `<@${discord.bot.user.id}> hello`, 'direct'],
  )
  assert.deepEqual(
    messages.map(({ guild_id, member, channel_type: type }) => [guild_id !== undefined, member !== undefined, type]),
    [
      [true, true, 0],
      [true, true, 0],
      [false, false, 1],
    ],
  )
})

test('a nonce that is enforced makes one message, one that is not makes two', async (t) => {
  const { discord, call } = await discordFor(t)
  const path = `/channels/${discord.general.id}/messages`
  const first = await call('POST', path, { content: 'hello', nonce: 'n1', enforce_nonce: true })
  const again = await call('POST', path, { content: 'other words', nonce: 'n1', enforce_nonce: true })
  assert.deepEqual([again.body.id, again.body.content, again.body.nonce], [first.body.id, 'hello', 'n1'])
  await call('POST', path, { content: 'hello', nonce: 'n1' })
  assert.equal(discord.sent().length, 2)
  assert.equal((await call('GET', path)).body[0].nonce, undefined)
})

test('what Discord refuses, it refuses in its words', async (t) => {
  const { discord, call } = await discordFor(t)
  const path = `/channels/${discord.general.id}/messages`
  const { body: message } = await call('POST', path, { content: 'x' })
  const long = { content: 'x'.repeat(2_001) }
  const buttons = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ type: 2, style: 1, label: 'x', custom_id: `${n}` }))
  const refused = [
    [await call('GET', '/users/@me', undefined, 'wrong'), 401, 0],
    [await call('POST', '/channels/1180000000000000010/messages', { content: 'x' }), 404, 10003],
    [await call('PATCH', `${path}/1180000000000000010`, { content: 'x' }), 404, 10008],
    [await call('POST', path, {}), 400, 50006],
    [await call('POST', path, long), 400, 50035],
    [await call('POST', path, { content: 'x', nonce: 'n'.repeat(26) }), 400, 50035],
    [await call('POST', path, { content: 'x', components: [{ type: 1, components: buttons(6) }] }), 400, 50035],
    [await call('POST', `${path}/${message.id}/threads`, { name: '' }), 400, 50035],
    [await call('POST', '/interactions/1/2/callback', { type: 4 }), 404, 10062],
  ] as const
  for (const [{ status, body }, wantedStatus, code] of refused)
    assert.deepEqual([status, body.code], [wantedStatus, code])
  assert.equal((await call('POST', `${path}/${message.id}/threads`, { name: 'A thread' })).body.id, message.id)
  assert.equal((await call('POST', `${path}/${message.id}/threads`, { name: 'A thread' })).body.code, 160004)
  const ada = discord.person('Ada')
  const other = discord.say(ada, discord.general, 'mine')
  assert.equal((await call('PATCH', `${path}/${other.id}`, { content: 'x' })).body.code, 50005)
})

test('each answer tells how many calls are left, and who asks too often is told to wait', async (t) => {
  const { discord, call } = await discordFor(t)
  discord.buckets.set('POST /channels/:id/messages', { limit: 1, perMs: 60_000 })
  const path = `/channels/${discord.general.id}/messages`
  const first = await call('POST', path, { content: 'x' })
  assert.equal(first.headers.get('x-ratelimit-remaining'), '0')
  const second = await call('POST', path, { content: 'x' })
  const { status, headers, body } = second
  assert.deepEqual([status, headers.get('x-ratelimit-scope'), body.global], [429, 'user', false])
  assert.ok(body.retry_after > 59 && body.retry_after <= 60 && headers.get('retry-after') === '60')
})

test('messages come newest first, at most a hundred', async (t) => {
  const { discord, call } = await discordFor(t)
  const ada = discord.person('Ada')
  const said = Array.from({ length: 110 }, (_, number) => discord.say(ada, discord.general, String(number)))
  const path = `/channels/${discord.general.id}/messages`
  const contents = async (query: string) =>
    (await call('GET', `${path}?${query}`)).body.map(({ content }: { content: string }) => content)
  assert.deepEqual(await contents('limit=2'), ['109', '108'])
  assert.deepEqual(await contents(`limit=2&after=${said[0]?.id}`), ['2', '1'])
  assert.equal((await contents('limit=100')).length, 100)
  assert.equal((await call('GET', `${path}?limit=101`)).body.code, 50035)
})
