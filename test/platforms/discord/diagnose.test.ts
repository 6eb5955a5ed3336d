/**
 * The checks of `hermes doctor` for a bot.
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

test('all checks of a working bot pass', async (t) => {
  assert.deepEqual(
    (await diagnoseBot(t)).map(({ state }) => state),
    ['ok', 'ok', 'ok', 'ok'],
  )
})

test('a missing intent is reported with the setting that turns it on', async (t) => {
  const problem = (await diagnoseBot(t, { messageContent: false })).find(({ state }) => state === 'problem')
  assert.match(problem?.text ?? '', /4014/)
  assert.match(problem?.advice ?? '', /Privileged Gateway Intents.*Message Content Intent/)
})

test('a wrong token is reported as one problem, with the variable that holds it', async (t) => {
  const found = await diagnoseBot(t, {}, ({ bot }) => {
    bot.token = 'another token'
  })
  assert.deepEqual(
    found.map(({ state }) => state),
    ['problem'],
  )
  assert.match(found[0]?.advice ?? '', /Reset Token.*DISCORD_BOT_TOKEN/)
})

test('an unreachable Discord is reported with advice', async (t) => {
  const [found] = await diagnoseBot(t, {}, ({ faults }) => faults.startOutage('refuse'))
  assert.equal(found?.state, 'problem')
  assert.match(found?.text ?? '', /ECONNREFUSED/)
  assert.match(found?.advice ?? '', /api_url/)
})

test('a low session limit and a bot without servers are reported', async (t) => {
  const found = await diagnoseBot(t, {}, ({ gateway, faults, bot }) => {
    gateway.limit.remaining = 12
    faults.respond('GET /applications/@me', {
      status: 200,
      body: { id: bot.applicationId, flags: 1 << 18, approximate_guild_count: 0 },
    })
  })
  const [servers, sessions] = found.filter(({ state }) => state === 'note').map(({ text }) => text)
  assert.ok(servers)
  assert.match(sessions ?? '', /\b12\b.*\b1000\b/)
  assert.ok(found.every(({ state, advice }) => state === 'ok' || advice !== undefined))
})
