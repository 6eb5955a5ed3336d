import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { describeCloseCode } from '../../../../platforms/discord/errors.ts'
import { HermesError } from '../../../../src/lib/errors.ts'
import { acceptedTexts, neverAborted, startDiscordTest, until, waitForEvent } from '../support.ts'

/** Short timing of the watchdog. */
const alert = { quietMs: 60, answerMs: 60 }

// Most of the time the tests wait for the half second after which discord.js reconnects.
describe('a connection to Discord', { concurrency: 8 }, () => {
  test('a cut connection is resumed, and events of the meantime arrive', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    discord.gateway.cut()
    discord.say(ada, dm, 'meanwhile')
    await waitForEvent(gateway, 'meanwhile')
    assert.deepEqual(discord.gateway.counts.identified, 1)
    assert.deepEqual(discord.gateway.counts.resumed, 1)
  })

  test('a connection that is open but dead is replaced, and its session is resumed', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t, { timing: alert })
    discord.gateway.freeze()
    discord.say(ada, dm, 'meanwhile')
    await waitForEvent(gateway, 'meanwhile')
    assert.equal(discord.gateway.counts.identified, 1)
    assert.ok(discord.gateway.counts.resumed >= 1)
  })

  test('a quiet connection is kept when it acknowledges a heartbeat', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t, { timing: alert })
    await until(() => discord.gateway.counts.heartbeats >= 3, discord)
    discord.say(ada, dm, 'still there')
    await waitForEvent(gateway, 'still there')
    assert.deepEqual([discord.gateway.counts.identified, discord.gateway.counts.resumed], [1, 0])
  })

  test('the session is resumed when Discord asks to reconnect', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    discord.gateway.askReconnect()
    await until(() => discord.gateway.connections() === 0, discord)
    discord.say(ada, dm, 'meanwhile')
    await waitForEvent(gateway, 'meanwhile')
    assert.deepEqual([discord.gateway.counts.identified, discord.gateway.counts.resumed], [1, 1])
  })

  test('an invalid session is followed by a new one, and missed messages are fetched', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    discord.say(ada, dm, 'before')
    await waitForEvent(gateway, 'before')
    discord.gateway.forgetSessions()
    discord.gateway.invalidate(false)
    discord.say(ada, dm, 'meanwhile')
    await waitForEvent(gateway, 'meanwhile')
    assert.deepEqual([discord.gateway.counts.identified, discord.gateway.counts.resumed], [2, 0])
    assert.deepEqual(acceptedTexts(gateway), ['before', 'meanwhile'])
  })

  test('after recoverable close codes the connection is restored', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    for (const code of [4000, 4009, 4007, 4008, 1001]) {
      discord.gateway.close(code)
      discord.say(ada, dm, `after ${code}`)
      await waitForEvent(gateway, `after ${code}`)
    }
  })

  for (const [name, prepare, code, data] of [
    ['a wrong token', 'token', 'platform/unauthorised', /\btoken\b/],
    ['a disabled intent', 'intent', 'platform/refused', /\(4014\).*Message Content Intent.*Privileged Gateway Intents/],
  ] as const) {
    test(`${name} ends the attempts, and the error names what to change`, async (t) => {
      const { discord, adapter } = await startDiscordTest(t, {
        connect: false,
        server: { messageContent: prepare !== 'intent' },
      })
      if (prepare === 'token') discord.bot.token = 'another token'
      await assert.rejects(adapter.connect(neverAborted), (error) => {
        assert.ok(error instanceof HermesError)
        assert.equal(error.code, code)
        assert.match(error.message, data)
        return true
      })
    })
  }

  for (const code of [4004, 4010, 4011, 4012, 4013, 4014]) {
    test(`after close code ${code} the account reports the reason and does not reconnect`, async (t) => {
      const { discord, gateway } = await startDiscordTest(t)
      discord.gateway.close(code)
      await until(() => gateway.refusals.length > 0, gateway)
      const reason = gateway.refusals[0] ?? ''
      assert.ok(reason.includes(`(${code})`), reason)
      assert.equal(reason.includes('Message Content Intent'), code === 4014)
      assert.equal(discord.gateway.counts.identified, 1)
    })
  }

  test('an outage and its end are reported', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    discord.gateway.turnAway(503)
    discord.gateway.cut()
    await until(() => gateway.healthReports.length > 0, gateway)
    assert.deepEqual(gateway.healthReports[0], { state: 'degraded', reason: describeCloseCode(1006) })
    discord.gateway.turnAway(0)
    discord.say(ada, dm, 'again')
    await waitForEvent(gateway, 'again')
    await until(() => gateway.healthReports.length > 1, gateway)
    assert.deepEqual(gateway.healthReports.at(-1), { state: 'connected', reason: undefined })
  })

  test('no session is started beyond the daily limit, and the error says when one is possible', async (t) => {
    const { discord, adapter } = await startDiscordTest(t, { connect: false })
    Object.assign(discord.gateway.limit, { remaining: 0, reset_after: 7_200_000 })
    await assert.rejects(adapter.connect(neverAborted), /\b1000\b.*\b120 min/)
    assert.equal(discord.gateway.counts.identified, 0)
  })

  test('without a remaining session after an outage, the account waits and reports it', async (t) => {
    const { discord, gateway } = await startDiscordTest(t)
    Object.assign(discord.gateway.limit, { remaining: 0, reset_after: 7_200_000 })
    discord.gateway.invalidate(false)
    await until(() => gateway.healthReports.some(({ reason = '' }) => /\b1000\b.*\b120 min/.test(reason)), gateway)
    assert.equal(discord.gateway.counts.identified, 1)
  })

  test('a server that is not Discord is reported, with the option to check', async (t) => {
    const { discord, createAnother } = await startDiscordTest(t, { connect: false })
    discord.faults.respond('GET /gateway/bot', { status: 200, body: { hello: 'world' } })
    await assert.rejects(createAnother().connect(neverAborted), /api_url/)
  })

  test('an answer without a usable address of the gateway fails the account, and no rejection stays unhandled', async (t) => {
    const unhandled: unknown[] = []
    const record = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', record)
    t.after(() => process.off('unhandledRejection', record))
    const { discord, createAnother } = await startDiscordTest(t, { connect: false })
    const limit = { total: 1_000, remaining: 1_000, reset_after: 0, max_concurrency: 1 }
    for (const body of [
      null,
      [],
      {},
      { url: 'ws://127.0.0.1' },
      { url: 'not an address', session_start_limit: limit },
    ]) {
      discord.faults.respond('GET /gateway/bot', { status: 200, body })
      await assert.rejects(createAnother().connect(neverAborted), { code: 'platform/connect-failed' })
    }
    await nextRound()
    assert.deepEqual(unhandled, [])
  })

  test('a dead connection is replaced at the known address when Discord names an unusable one', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t, { timing: alert })
    const limit = { total: 1_000, remaining: 1_000, reset_after: 0, max_concurrency: 1 }
    discord.faults.respond('GET /gateway/bot', { status: 200, body: { url: '', session_start_limit: limit } }, 100)
    discord.gateway.forgetSessions()
    discord.gateway.freeze()
    await until(() => discord.gateway.counts.identified === 2, discord)
    discord.say(ada, dm, 'after')
    await waitForEvent(gateway, 'after')
  })

  test('a new session starts once, although the limit of sessions cannot be read', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t)
    discord.faults.respond('GET /gateway/bot', { status: 502, body: 'bad gateway' }, 100)
    discord.gateway.forgetSessions()
    discord.gateway.invalidate(false)
    await until(() => discord.gateway.counts.identified === 2, discord)
    discord.say(ada, dm, 'after')
    await waitForEvent(gateway, 'after')
    assert.deepEqual([discord.gateway.counts.identified, discord.gateway.counts.resumed], [2, 0])
  })

  test('heartbeat acknowledgements count as activity', async (t) => {
    const { discord, gateway } = await startDiscordTest(t, { server: { heartbeatMs: 20 } })
    // Other events count as well, so both have to be waited for.
    await until(() => discord.gateway.counts.heartbeats >= 3 && gateway.received() >= 3, discord, gateway)
  })

  test('an invalid resume URL is not used', async (t) => {
    const { discord, gateway, ada, dm } = await startDiscordTest(t, { server: { resumeUrl: 'not an address' } })
    discord.gateway.cut()
    discord.say(ada, dm, 'meanwhile')
    await waitForEvent(gateway, 'meanwhile')
    assert.equal(discord.gateway.counts.resumed, 1)
  })
})
