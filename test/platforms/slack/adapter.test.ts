/**
 * The set-up of an account: what is missing, what doctor says, several accounts, what is shown beside messages.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import slack from '../../../platforms/slack/adapter.ts'
import { requiredScopes } from '../../../platforms/slack/connection/scopes.ts'
import { parseOptions } from '../../../platforms/slack/options.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import type { SendResult } from '../../../src/message/outbound.ts'
import { startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { ada, channel, direct, neverAborted, reply, startSlackTest, tokensOf } from './support.ts'

const mention = '<@U0BOT0001>'

describe('the options', () => {
  const complain = (options: Readonly<Record<string, unknown>>, account = 'default') => {
    try {
      parseOptions(options, account)
      return 'nothing'
    } catch (error) {
      assert.ok(error instanceof HermesError)
      assert.equal(error.code, 'config/invalid')
      return error.message
    }
  }

  test('what the mode needs is named with its key and its variable', () => {
    assert.match(complain({}), /platforms\.slack\.bot_token \(or SLACK_BOT_TOKEN\)/)
    assert.match(complain({ bot_token: 'x' }), /platforms\.slack\.app_token \(or SLACK_APP_TOKEN\).*mode: socket/)
    assert.match(complain({ bot_token: 'x', mode: 'http' }), /signing_secret \(or SLACK_SIGNING_SECRET\).*mode: http/)
    assert.match(complain({ bot_token: 'x' }, 'work'), /platforms\.slack\.accounts\.work\.app_token/)
    assert.match(complain({ bot_token: 'x', app_token: 'y', api_url: 'nowhere' }), /api_url/)
    assert.equal(complain({ bot_token: 'x', app_token: 'y' }), 'nothing')
  })

  test('a token alone goes to Slack, and nowhere else', () => {
    const { apiUrl, trustedOrigin } = parseOptions({ bot_token: 'x', app_token: 'y' }, 'default')
    assert.deepEqual([apiUrl, trustedOrigin], ['https://slack.com/api/', undefined])
  })
})

describe('a connect that cannot succeed', () => {
  test('a wrong app token is told as one', async (t) => {
    const { adapter } = await startSlackTest(t, { connect: false, options: { app_token: 'wrong' } })
    await assert.rejects(adapter.connect(neverAborted), (error) => {
      return error instanceof HermesError && error.code === 'platform/unauthorised' && /app_token/.test(error.message)
    })
  })

  test('a missing right is told as a setting there', async (t) => {
    const { server, adapter } = await startSlackTest(t, { connect: false })
    const body = { ok: false, error: 'missing_scope', needed: 'connections:write' }
    server.faults.respond('apps.connections.open', { status: 200, body })
    await assert.rejects(adapter.connect(neverAborted), (error) => {
      return (
        error instanceof HermesError && error.code === 'platform/refused' && /connections:write/.test(error.message)
      )
    })
  })
})

describe('doctor', () => {
  const examine = async (server: Awaited<ReturnType<typeof startSlackServer>>, options = {}) => {
    const found = await slack.diagnose?.(
      { account: 'default', options: { ...tokensOf(server), ...options } },
      neverAborted,
    )
    assert.ok(found)
    for (const { state, advice } of found) assert.ok(state !== 'problem' || advice !== undefined)
    return found.map(({ state, text, advice = '' }) => `${state}: ${text} ${advice}`)
  }

  test('says who the bot is, that it has its rights, and that its socket opens', async (t) => {
    const server = await startSlackServer()
    t.after(() => server.close())
    const found = await examine(server)
    assert.match(found.join('\n'), /ok: signed in as @hermes in Test Team/)
    assert.match(found.join('\n'), /ok: it has every right/)
    assert.match(found.join('\n'), /ok: Socket Mode is on/)
    assert.equal(server.delivery.sockets(), 0)
  })

  test('names the page to open for each thing that is wrong', async (t) => {
    const server = await startSlackServer()
    t.after(() => server.close())
    server.scopes.delete('chat:write')
    server.scopes.delete('reactions:read')
    const rights = (await examine(server)).join('\n')
    assert.match(rights, /problem: the right chat:write is missing: nothing can be answered.*Reinstall/)
    assert.match(rights, /note: the right reactions:read/)
    const wrong = (await examine(server, { bot_token: 'wrong', app_token: server.botToken })).join('\n')
    assert.match(wrong, /problem: bot_token: Slack does not know the token.*OAuth & Permissions/)
    assert.match(wrong, /problem: app_token: .*App-Level Tokens/)
    assert.doesNotMatch(wrong, /secret-of/)
  })

  test('in http mode says where the request URL must lead', async (t) => {
    const server = await startSlackServer()
    t.after(() => server.close())
    assert.match((await examine(server, { mode: 'http' })).join('\n'), /note: .*over HTTP.*\/webhooks\/slack/)
  })
})

test('the manifest in the README contains all required scopes and events', () => {
  const readme = readFileSync(new URL('../../../platforms/slack/README.md', import.meta.url), 'utf8')
  const manifest = JSON.parse(/```json\n(.*?)```/s.exec(readme)?.[1] ?? '{}')
  assert.deepEqual(manifest.oauth_config.scopes.bot, requiredScopes.map(({ scope }) => scope).toSorted())
  const events = manifest.settings.event_subscriptions.bot_events
  assert.ok(events.includes('app_mention') && events.includes('message.im') && events.includes('reaction_added'))
  assert.equal(manifest.settings.socket_mode_enabled, true)
})

describe('beside messages', () => {
  test('names are looked up behind the scenes, once, and the next message has them', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    await server.say(direct, ada, 'one')
    await server.until(() => (server.faults.calls('users.info') > 0 ? true : undefined), 5)
    await server.say(direct, ada, 'two')
    await server.until(() => gateway.ingestedEvents.find(({ event }) => event.source.userName === 'Ada') ?? again(), 5)
    assert.equal(server.faults.calls('users.info'), 1)

    function again(): undefined {
      void server.say(direct, ada, 'more')
      return undefined
    }
  })

  test('without the right to names nobody is asked for twice', async (t) => {
    const { server } = await startSlackTest(t)
    server.scopes.delete('users:read')
    await server.say(direct, ada, 'one')
    await server.until(() => (server.faults.calls('users.info') > 0 ? true : undefined), 5)
    await server.say(direct, ada, 'two')
    await server.say(channel, 'U0CY000001', `${mention} three`)
    assert.equal(server.faults.calls('users.info'), 1)
  })

  test('the status is shown in threads, not again within a minute, and taken away with a turn that says nothing', async (t) => {
    let now = 1_000_000
    const { server, adapter } = await startSlackTest(t, { clock: () => now })
    const { ts: threadId } = await server.say(channel, ada, `${mention} hello`)
    const target = { platform: 'slack', account: 'default', chatId: channel, threadId }
    for (let tick = 0; tick < 5; tick += 1) await adapter.typing?.(target, neverAborted)
    assert.deepEqual(
      server.statuses.map(({ status }) => status),
      ['is thinking...'],
    )
    now += 61_000
    await adapter.typing?.(target, neverAborted)
    assert.equal(server.statuses.length, 2)
    adapter.activity?.(target, { kind: 'turn-ended', turnId: 't', status: 'stopped' })
    await server.until(() => (server.statuses.at(-1)?.['status'] === '' ? true : undefined))
    const { threadId: _none, ...flat } = target
    await adapter.typing?.(flat, neverAborted)
    assert.equal(server.statuses.length, 3)
  })

  test('a status is taken away within the rate budget, and not that of the next turn', async (t) => {
    const waiting: (() => Promise<unknown>)[] = []
    const { server, adapter } = await startSlackTest(t, {
      rateLimited(_target, signal, call) {
        const { promise, resolve } = Promise.withResolvers<SendResult>()
        waiting.push(async () => resolve(await call(signal)))
        return promise
      },
    })
    const shown = () => server.statuses.map(({ status }) => status)
    const target = { platform: 'slack', account: 'default', chatId: channel, threadId: '1.1' }
    const ended = { kind: 'turn-ended', turnId: 't', status: 'stopped' } as const
    await adapter.typing?.(target, neverAborted)
    adapter.activity?.(target, ended)
    await adapter.typing?.(target, neverAborted)
    await waiting.shift()?.()
    assert.deepEqual(shown(), ['is thinking...', 'is thinking...'])
    adapter.activity?.(target, ended)
    assert.equal(shown().length, 2)
    await waiting.shift()?.()
    assert.deepEqual(shown(), ['is thinking...', 'is thinking...', ''])
  })

  test('where Slack does not show a status it is asked once', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    server.scopes.delete('assistant:write')
    const target = { platform: 'slack', account: 'default', chatId: channel, threadId: '1.1' }
    for (let tick = 0; tick < 3; tick += 1) assert.equal((await adapter.typing?.(target, neverAborted))?.success, true)
    assert.equal(server.faults.calls('assistant.threads.setStatus'), 1)
  })

  test('a slash command that could not be stored tells its writer', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    gateway.failNextAccept(new HermesError('store/full'))
    const answer = await server.slash(direct, ada, 'status')
    assert.match(JSON.stringify(answer), /disk is full/)
    gateway.failNextAccept(new HermesError('store/full'))
    const { ts } = server.workspace.post(direct, { user: 'U0BOT0001', bot_id: 'B0BOT0001', text: 'May I?' })
    assert.equal((await server.press(direct, ts, ada, 'ask:1:allow')).acknowledged, true)
    await server.until(() => server.ephemerals.find(({ text }) => /press the button again/.test(String(text))))
  })

  test('an edit that is too large is acknowledged, and the next one is heard', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    const { ts } = await server.say(direct, ada, 'one')
    gateway.failNextAccept(new HermesError('inbox/too-large'))
    assert.equal(await server.outcomeOf(server.workspace.edit(direct, ts, { text: 'far too much' }, ada)), true)
    assert.equal(gateway.changes.length, 0)
    await server.outcomeOf(server.workspace.edit(direct, ts, { text: 'two' }, ada))
    assert.deepEqual(
      gateway.changes.map((change) => change.kind === 'edited' && change.event.text),
      ['two'],
    )
  })

  test('events of one channel are handed in in their order, however long one takes', async (t) => {
    const { server, gateway } = await startSlackTest(t, { server: { redeliverMs: 5_000 } })
    const release = gateway.holdAccepts()
    const all = ['one', 'two', 'three'].map((text) => server.say(direct, ada, text))
    await server.until(() => (gateway.attempts() > 0 ? true : undefined), 5)
    release()
    await Promise.all(all)
    assert.deepEqual(
      gateway.ingestedEvents.map(({ event }) => event.text),
      ['one', 'two', 'three'],
    )
  })

  test('a message that came twice is handed in under the same name', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    server.delivery.double(true)
    await server.say(direct, ada, 'hello')
    await server.until(() => (gateway.ingestedEvents.length === 2 ? true : undefined), 5)
    assert.deepEqual(
      gateway.ingestedEvents.map(({ accepted }) => accepted.status),
      ['accepted', 'duplicate'],
    )
  })

  test('two accounts in one process do not share what they have learnt', async (t) => {
    const one = await startSlackTest(t)
    const other = await startSlackTest(t, {
      server: { teamId: 'T0OTHER01', botUserId: 'U0BOT0002', streaming: 'everywhere' },
    })
    const { ts: first } = await one.server.say(channel, ada, `${mention} hello`)
    await one.adapter.send(reply('x', channel, { thread: first, kind: 'draft' }), neverAborted)
    const { ts } = await other.server.say(channel, ada, '<@U0BOT0002> hello')
    await other.adapter.send(reply('x', channel, { thread: ts, kind: 'draft' }), neverAborted)
    assert.equal(other.server.posts(channel)[0]?.streaming_state, 'in_progress')
    assert.equal(one.gateway.ingestedEvents[0]?.event.source.scopeId, 'T0TEAM001')
    assert.equal(other.gateway.ingestedEvents[0]?.event.source.scopeId, 'T0OTHER01')
  })
})
