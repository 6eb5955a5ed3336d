/**
 * What `hermes doctor` says of a bot.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import module from '../../../platforms/discord/adapter.ts'
import type { DiagnosticResult } from '../../../src/platforms/adapter.ts'
import { type DiscordServer, type DiscordServerOptions, startDiscordServer } from '../../kit/servers/discord/server.ts'
import { neverAborted, optionsFor } from './support.ts'

async function diagnoseBot(
  t: TestContext,
  options: DiscordServerOptions = {},
  trouble: (discord: DiscordServer) => unknown = () => undefined,
): Promise<readonly DiagnosticResult[]> {
  const discord = await startDiscordServer(options)
  t.after(discord.close)
  const account = { account: 'default', options: optionsFor(discord, discord.bot) }
  await trouble(discord)
  return (await module.diagnose?.(account, neverAborted)) ?? []
}

test('a bot that can work is said to', async (t) => {
  assert.deepEqual(
    (await diagnoseBot(t)).map(({ state, text }) => `${state}: ${text}`),
    [
      'ok: The token belongs to Hermes.',
      'ok: The bot may read messages (Message Content Intent).',
      'ok: The bot is on one server.',
      'ok: The bot may begin 1000 more of 1000 sessions today.',
    ],
  )
})

test('without the intent the exact switch is named', async (t) => {
  const problem = (await diagnoseBot(t, { messageContent: false })).find(({ state }) => state === 'problem')
  assert.match(problem?.text ?? '', /4014/)
  assert.match(problem?.advice ?? '', /Bot → Privileged Gateway Intents, and switch on Message Content Intent/)
})

test('a wrong token is one problem, and its place is named', async (t) => {
  const found = await diagnoseBot(t, {}, ({ bot }) => {
    bot.token = 'another token'
  })
  assert.deepEqual(
    found.map(({ state, text }) => [state, text]),
    [['problem', 'Discord does not accept the token.']],
  )
  assert.match(found[0]?.advice ?? '', /Reset Token.*DISCORD_BOT_TOKEN/)
})

test('a Discord that cannot be reached is a problem with advice', async (t) => {
  const [found] = await diagnoseBot(t, {}, ({ faults }) => faults.startOutage('refuse'))
  assert.equal(found?.state, 'problem')
  assert.match(found?.text ?? '', /could not be reached: ECONNREFUSED/)
  assert.match(found?.advice ?? '', /api_url/)
})

test('sessions that run out, and a bot that is nowhere, are told before they hurt', async (t) => {
  const found = await diagnoseBot(t, {}, ({ gateway, faults, bot }) => {
    gateway.limit.remaining = 12
    faults.respond('GET /applications/@me', {
      status: 200,
      body: { id: bot.applicationId, flags: 1 << 18, approximate_guild_count: 0 },
    })
  })
  assert.deepEqual(
    found.filter(({ state }) => state === 'note').map(({ text }) => text),
    [
      'The bot is on no server: only people who share a server with it can write to it.',
      'The bot may begin 12 more of 1000 sessions today.',
    ],
  )
  assert.ok(found.every(({ state, advice }) => state === 'ok' || advice !== undefined))
})
