/**
 * Options, connecting, doctor checks, several accounts, names and the typing status.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import slack from '../../../platforms/slack/adapter.ts'
import { createAppManifest } from '../../../platforms/slack/connection/app-manifest.ts'
import { requiredScopes } from '../../../platforms/slack/connection/scopes.ts'
import { fixedReplies } from '../../../platforms/slack/inbound/ingest.ts'
import { parseOptions } from '../../../platforms/slack/options.ts'
import { errorCatalogue } from '../../../src/lib/error-catalogue.ts'
import { HermesError } from '../../../src/lib/errors.ts'
import type { SendResult } from '../../../src/message/outbound.ts'
import { startSlackServer } from '../../kit/servers/slack/slack-server.ts'
import { ada, channel, direct, neverAborted, reply, startSlackTest, tokensOf } from './support.ts'

const mention = '<@U0BOT0001>'

describe('the options', () => {
  const errorOf = (options: Readonly<Record<string, unknown>>, account = 'default') => {
    try {
      parseOptions(options, account)
      return 'nothing'
    } catch (error) {
      assert.ok(error instanceof HermesError)
      assert.equal(error.code, 'config/invalid')
      return error.message
    }
  }

  test('a missing option is reported with its key and its variable', () => {
    assert.match(errorOf({}), /platforms\.slack\.bot_token \(or SLACK_BOT_TOKEN\)/)
    assert.match(errorOf({ bot_token: 'x' }), /platforms\.slack\.app_token \(or SLACK_APP_TOKEN\).*mode: socket/)
    assert.match(errorOf({ bot_token: 'x', mode: 'http' }), /signing_secret \(or SLACK_SIGNING_SECRET\).*mode: http/)
    assert.match(errorOf({ bot_token: 'x' }, 'work'), /platforms\.slack\.accounts\.work\.app_token/)
    assert.match(errorOf({ bot_token: 'x', app_token: 'y', api_url: 'nowhere' }), /api_url/)
    assert.equal(errorOf({ bot_token: 'x', app_token: 'y' }), 'nothing')
  })

  test('without api_url the tokens go to slack.com', () => {
    const { apiUrl, trustedOrigin } = parseOptions({ bot_token: 'x', app_token: 'y' }, 'default')
    assert.deepEqual([apiUrl, trustedOrigin], ['https://slack.com/api/', undefined])
  })
})

describe('a connect that cannot succeed', () => {
  test('an invalid app token is reported as such', async (t) => {
    const { adapter } = await startSlackTest(t, { connect: false, options: { app_token: 'wrong' } })
    await assert.rejects(adapter.connect(neverAborted), (error) => {
      return error instanceof HermesError && error.code === 'platform/unauthorised' && /app_token/.test(error.message)
    })
  })

  test('a missing scope is reported as a setting of the app', async (t) => {
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

  test('reports the bot, its scopes and that a socket opens', async (t) => {
    const server = await startSlackServer()
    t.after(() => server.close())
    const found = await examine(server)
    assert.match(found.join('\n'), /^ok: .*@hermes.*Test Team/m)
    assert.match(found.join('\n'), /^ok: .*scopes/m)
    assert.match(found.join('\n'), /^ok: .*Socket Mode/m)
    assert.equal(server.delivery.sockets(), 0)
  })

  test('names the settings page for each problem', async (t) => {
    const server = await startSlackServer()
    t.after(() => server.close())
    server.scopes.delete('chat:write')
    server.scopes.delete('reactions:read')
    const scopes = (await examine(server)).join('\n')
    assert.match(scopes, /problem: .*chat:write.*Reinstall/)
    assert.match(scopes, /note: .*reactions:read/)
    const wrong = (await examine(server, { bot_token: 'wrong', app_token: server.botToken })).join('\n')
    assert.match(wrong, /problem: bot_token: .*invalid_auth.*OAuth & Permissions/)
    assert.match(wrong, /problem: app_token: .*App-Level Tokens/)
    assert.doesNotMatch(wrong, /secret-of/)
  })

  test('names the request URL in http mode', async (t) => {
    const server = await startSlackServer()
    t.after(() => server.close())
    assert.match((await examine(server, { mode: 'http' })).join('\n'), /note: .*\/webhooks\/slack/)
  })
})

test('the manifest has each command that Slack can take, and that of the README has the general one', () => {
  const entry = (name: string, argsHint = '') => ({ name, description: `does ${name}`, argsHint })
  const names = ['stop', 'x'.repeat(30), 'two words', ...Array.from({ length: 60 }, (_, index) => `c${index}`)]
  const { slash_commands: listed } = createAppManifest([
    entry('title', '[name]'),
    ...names.map((name) => entry(name)),
  ]).features
  assert.deepEqual(
    listed.slice(0, 4).map(({ command }) => command),
    ['/hermes', '/hermes-title', '/hermes-stop', '/hermes-c0'],
  )
  assert.deepEqual(listed[1], {
    command: '/hermes-title',
    description: 'does title',
    usage_hint: '[name]',
    should_escape: true,
  })
  assert.equal(listed.length, 50)
  const readme = readFileSync(new URL('../../../platforms/slack/README.md', import.meta.url), 'utf8')
  assert.deepEqual(JSON.parse(/```json\n(.*?)```/s.exec(readme)?.[1] ?? ''), createAppManifest([]))
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
  test('names are looked up once in the background, and the next message has them', async (t) => {
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

  test('without the scope for names only one lookup is made', async (t) => {
    const { server } = await startSlackTest(t)
    server.scopes.delete('users:read')
    await server.say(direct, ada, 'one')
    await server.until(() => (server.faults.calls('users.info') > 0 ? true : undefined), 5)
    await server.say(direct, ada, 'two')
    await server.say(channel, 'U0CY000001', `${mention} three`)
    assert.equal(server.faults.calls('users.info'), 1)
  })

  test('mentioned users and channels become names in the same message; a refused lookup keeps the id', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    server.workspace.addChannel('C0RELEASES', 'channel', true, 'releases')
    const text = '<@U0BOB00001> wrote in <#C0RELEASES> and <#C0NOWHERE1>'
    await server.say(direct, ada, text)
    await server.say(direct, ada, text)
    assert.deepEqual(
      gateway.ingestedEvents.map(({ event }) => event.text),
      Array.from({ length: 2 }, () => '@Bob wrote in #releases and #C0NOWHERE1'),
    )
    assert.equal(server.faults.calls('conversations.info'), 2)
  })

  test('the first message in a thread of a direct chat carries the file of the message that it answers', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    const files = [server.addFile('plan.pdf', 'application/pdf', Buffer.from('plan'))]
    const { ts } = await server.say(direct, ada, 'the plan', { files })
    await server.say(direct, ada, 'what do you think?', { thread_ts: ts })
    const [, answer] = gateway.ingestedEvents
    assert.deepEqual(
      answer?.event.attachments?.map(({ fileName }) => fileName),
      ['plan.pdf'],
    )
  })

  test('a message does not wait for names that cannot be looked up in time', async (t) => {
    const { server, gateway } = await startSlackTest(t, { server: { redeliverMs: 10_000 } })
    t.after(server.faults.hold('conversations.info'))
    await server.say(direct, ada, 'see <#C0GENERAL>')
    assert.equal(gateway.ingestedEvents[0]?.event.text, 'see #C0GENERAL')
  })

  for (const event of [{ type: 'app_uninstalled' }, { type: 'tokens_revoked', tokens: { bot: ['U0BOT0001'] } }]) {
    test(`${event.type} stops the account with a reason`, async (t) => {
      const { server, gateway } = await startSlackTest(t)
      await server.event(event)
      assert.equal(gateway.refusals.length, 1)
    })
  }

  test('a revoked token of a user does not stop the account', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    await server.event({ type: 'tokens_revoked', tokens: { oauth: ['U0ADA00001'], bot: [] } })
    assert.deepEqual(gateway.refusals, [])
  })

  test('the status is shown in threads, at most once a minute, and removed when a turn ends without a message', async (t) => {
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

  test('the status says which tool runs, as far as the account permits', async (t) => {
    const target = { platform: 'slack', account: 'default', chatId: channel, threadId: '1.1' }
    const label = `cat\n${'x'.repeat(100)}`
    const started = { kind: 'tool-started', turnId: 't', callId: 'c', tool: 'terminal', label } as const
    for (const [mode, expected] of [
      ['full', `is using terminal: cat ${'x'.repeat(55)}…...`],
      ['verb', 'is using terminal...'],
      ['off', undefined],
    ] as const) {
      const { server, adapter } = await startSlackTest(t, { options: { live_status: mode } })
      await adapter.typing?.(target, neverAborted)
      adapter.activity?.(target, started)
      await adapter.typing?.(target, neverAborted)
      await adapter.typing?.(target, neverAborted)
      adapter.activity?.(target, { ...started, kind: 'tool-ended', ok: true, summary: '' })
      await adapter.typing?.(target, neverAborted)
      const tool = expected === undefined ? [] : [expected, 'is thinking...']
      assert.deepEqual(
        server.statuses.map(({ status }) => status),
        ['is thinking...', ...tool],
      )
    }
  })

  test('clearing a status respects the rate limit and keeps the status of the next turn', async (t) => {
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

  test('an unsupported status is tried once', async (t) => {
    const { server, adapter } = await startSlackTest(t)
    server.scopes.delete('assistant:write')
    const target = { platform: 'slack', account: 'default', chatId: channel, threadId: '1.1' }
    for (let tick = 0; tick < 3; tick += 1) assert.equal((await adapter.typing?.(target, neverAborted))?.success, true)
    assert.equal(server.faults.calls('assistant.threads.setStatus'), 1)
  })

  test('the author of a slash command that could not be stored is notified', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    gateway.failNextAccept(new HermesError('store/full'))
    const answer = await server.slash(direct, ada, 'status')
    assert.ok(JSON.stringify(answer).includes(errorCatalogue['store/full'].meaning))
    gateway.failNextAccept(new HermesError('store/full'))
    const { ts } = server.workspace.post(direct, { user: 'U0BOT0001', bot_id: 'B0BOT0001', text: 'May I?' })
    assert.equal((await server.press(direct, ts, ada, 'ask:1:allow')).acknowledged, true)
    await server.until(() => server.ephemerals.find(({ text }) => text === fixedReplies.pressNotStored))
  })

  test('an edit that is too large is acknowledged and does not block the next one', async (t) => {
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

  test('events of one channel are accepted in order', async (t) => {
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
    // The gateway stores those of them that must not wait.
    assert.deepEqual(
      gateway.overtaking.map(({ event }) => event.text),
      ['two', 'three'],
    )
  })

  test('a repeated message has the same key', async (t) => {
    const { server, gateway } = await startSlackTest(t)
    server.delivery.double(true)
    await server.say(direct, ada, 'hello')
    await server.until(() => (gateway.ingestedEvents.length === 2 ? true : undefined), 5)
    assert.deepEqual(
      gateway.ingestedEvents.map(({ accepted }) => accepted.status),
      ['accepted', 'duplicate'],
    )
  })

  test('two accounts in one process share no state', async (t) => {
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
