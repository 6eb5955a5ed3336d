/**
 * The whole gateway with the real adapter, a local Discord server and a local model.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { withTimeout } from '../../../src/lib/timers.ts'
import { type DiscordServer, type DiscordServerOptions, startDiscordServer } from '../../kit/servers/discord/server.ts'
import type { Message } from '../../kit/servers/discord/world.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { waitLimitMs } from '../../kit/wait-limit.ts'
import { addQuickCommands, at, hasResult } from '../../stories/support.ts'
import { optionsFor, until } from './support.ts'

interface EndToEndTest {
  readonly discord: DiscordServer
  readonly gateway: TestGateway
  readonly ada: ReturnType<DiscordServer['person']>
  readonly dm: ReturnType<DiscordServer['dm']>
  readonly mention: string
}

async function startEndToEnd(
  t: TestContext,
  options: Readonly<Record<string, unknown>> = {},
  { config = {}, ...rest }: TestGatewayOptions = {},
  server: DiscordServerOptions = {},
): Promise<EndToEndTest> {
  const discord = await startDiscordServer(server)
  const ada = discord.person('Ada')
  const gateway = await startTestGateway(t, {
    ...rest,
    config: {
      ...config,
      platforms: {
        fake: { enabled: false },
        discord: { ...optionsFor(discord, discord.bot), allow_from: [ada.id], ...options },
      },
    },
  })
  // After the gateway, which closes its connection first.
  t.after(discord.close)
  return { discord, gateway, ada, dm: discord.dm(ada), mention: `<@${discord.bot.user.id}>` }
}

const hasText =
  (text: string) =>
  ({ content }: Message) =>
    content.includes(text)

/** The first matching message of a bot. Rejects when that takes too long, with the messages so far. */
async function shown(discord: DiscordServer, fits: (message: Message) => boolean): Promise<Message> {
  const found = await withTimeout(discord.until(fits), waitLimitMs())
  if (found.done) return found.value
  throw new Error(`waited in vain; shown: ${JSON.stringify(discord.sent().map(({ content }) => content))}`)
}

async function health(gateway: TestGateway): Promise<{ state: string; reason?: string; receiving?: boolean }> {
  return Object(await (await gateway.http('/readyz')).json()).platforms.discord
}

describe('Discord with the whole gateway', { concurrency: 4 }, () => {
  test('a message to the bot is answered', async (t) => {
    const { discord, gateway, ada, dm } = await startEndToEnd(t, {}, { replies: [{ text: 'It is **noon**.' }] })
    const asked = discord.say(ada, dm, 'What time is it?')
    const reply = await shown(discord, hasText('It is **noon**.'))
    assert.equal(reply.message_reference?.['message_id'], asked.id)
    assert.match(JSON.stringify((await gateway.modelRequest(0)).body), /What time is it\?/)
    assert.deepEqual(await health(gateway), { state: 'connected', receiving: true })
  })

  test('the typing indicator is shown while the bot works', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { discord, ada, dm } = await startEndToEnd(t, {}, { replies: [{ text: 'done', gate: () => promise }] })
    discord.say(ada, dm, 'think')
    await until(() => discord.typing.includes(dm.id), discord)
    resolve()
    await shown(discord, hasText('done'))
  })

  test('a user who is not allowed gets no answer', async (t) => {
    const { discord, ada, dm, mention } = await startEndToEnd(t)
    const eve = discord.person('Eve')
    discord.say(eve, discord.general, `${mention} let me in`)
    discord.say(ada, dm, 'hello')
    await shown(discord, hasText('hello'))
    assert.ok(discord.sent(discord.general.id).every((message) => !hasText('let me in')(message)))
  })

  test('a mention in a channel is answered in a thread, which continues without mentions', async (t) => {
    const { discord, gateway, ada, mention } = await startEndToEnd(t)
    const { id } = discord.say(ada, discord.general, `${mention} how do I oil it?`)
    await shown(discord, ({ channel_id, content }) => channel_id === id && content.includes('how do I oil it?'))
    const thread = discord.world.channels.get(id)
    assert.ok(thread)
    discord.say(ada, thread, 'And how often?')
    await shown(discord, ({ channel_id, content }) => channel_id === id && content.includes('And how often?'))
    const { messages } = Object((await gateway.modelRequest(1)).body)
    assert.match(JSON.stringify(messages), /how do I oil it\?.*And how often\?/)
    assert.deepEqual(discord.sent(discord.general.id), [])
  })

  test('the slash commands of Discord follow the quick commands of the operator, also after a failure', async (t) => {
    const { discord, gateway } = await startEndToEnd(t)
    await gateway.waitForLog('discord.commands_registered')
    discord.faults.respond('PUT /applications/:id/commands', {
      status: 403,
      body: { code: 50001, message: 'Missing Access' },
    })
    addQuickCommands(gateway, { broken: { type: 'exec', command: 'true' } })
    await gateway.waitForLog('discord.commands_failed')
    addQuickCommands(gateway, { disk: { type: 'exec', command: 'df' } })
    await gateway.waitForLogLine(2, 'discord.commands_registered')
    assert.ok(discord.commandsOf().some(({ name }) => name === 'disk'))
    assert.equal(Object(await (await gateway.http('/readyz')).json()).platforms.discord.state, 'connected')
  })

  test('a long reply grows in one message and ends in it', async (t) => {
    const words = Array.from({ length: 400 }, (_, index) => `word${index}`)
      .join(' ')
      .slice(0, 1_900)
    const streaming = { enabled: true, buffer_threshold: 10 }
    const { discord, ada, dm } = await startEndToEnd(
      t,
      {},
      { config: { streaming }, replies: [{ text: words, delayMs: 4 }] },
    )
    discord.say(ada, dm, 'Tell me more')
    const reply = await shown(discord, ({ content }) => content === words)
    assert.notEqual(reply.edited_timestamp, null)
    assert.equal(discord.sent(dm.id).length, 1)
  })

  test('a reply in a thread grows in the thread', async (t) => {
    const words = Array.from({ length: 100 }, (_, index) => `word${index}`).join(' ')
    const streaming = { enabled: true, buffer_threshold: 10 }
    const { discord, ada, mention } = await startEndToEnd(
      t,
      {},
      { config: { streaming }, replies: [{ text: words, delayMs: 10 }] },
    )
    const { id } = discord.say(ada, discord.general, `${mention} tell me more`)
    await shown(discord, ({ channel_id, content }) => channel_id === id && content === words)
    assert.equal(discord.sent().length, 1)
  })

  test('a reply that is too long for one message is sent as several, in order', async (t) => {
    const text = Array.from({ length: 100 }, (_, index) => `Line ${index}: ${'x'.repeat(50)}`).join('\n')
    const { discord, ada, dm } = await startEndToEnd(t, {}, { replies: [{ text }] })
    discord.say(ada, dm, 'everything')
    await shown(discord, hasText('Line 99:'))
    const parts = discord.sent(dm.id).map(({ content }) => content)
    assert.ok(parts.length >= 3 && parts.every((part) => part.length <= 2_000))
    assert.equal(parts.join('\n').match(/Line \d+:/g)?.length, 100)
  })

  test('a native command is acknowledged privately and answered in the channel', async (t) => {
    const { discord, gateway, ada, dm } = await startEndToEnd(t)
    await until(() => discord.commandsOf().some(({ name }) => name === 'status'), discord)
    assert.equal(await discord.choose(ada, dm, 'status'), 'On it: `/status`')
    await gateway.waitForEvent('command:status')
    await until(() => discord.sent(dm.id).length === 1, discord)
    const eve = discord.person('Eve')
    const refusal = await discord.choose(eve, discord.general, 'status')
    const { reason } = JSON.parse(await gateway.waitForLog({ event: 'inbox.refused', user: eve.id }))
    assert.ok(refusal.includes(reason), refusal)
  })

  test('an edit of a queued message replaces its text, and an added preview is not an edit', async (t) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { discord, gateway, ada, dm } = await startEndToEnd(
      t,
      {},
      { replies: [{ text: 'done', gate: () => promise }] },
    )
    discord.say(ada, dm, 'busy')
    await gateway.modelRequest(0)
    const waiting = discord.say(ada, dm, 'helo')
    while (gateway.log.filter((line) => line.includes('message accepted')).length < 2) await gateway.nextLine()
    discord.unfurl(waiting)
    discord.edit(waiting, 'hello')
    await gateway.waitForLog('message edited')
    resolve()
    await shown(discord, hasText('You said: hello'))
    assert.deepEqual(
      discord.sent(dm.id).map(({ content }) => content),
      ['done', 'You said: hello'],
    )
  })

  test('messages written during an outage are answered once', async (t) => {
    const { discord, ada, dm } = await startEndToEnd(t, {}, {}, { sessionsAtOnce: 16 })
    discord.say(ada, dm, 'before')
    await shown(discord, hasText('before'))
    discord.gateway.turnAway(503)
    discord.gateway.forgetSessions()
    discord.gateway.cut()
    discord.say(ada, dm, 'meanwhile')
    discord.gateway.turnAway(0)
    await shown(discord, hasText('meanwhile'))
    assert.equal(discord.sent(dm.id).filter(hasText('meanwhile')).length, 1)
  })

  test('messages written while the gateway was stopped are answered once at the next start', async (t) => {
    const { discord, gateway, ada, dm, mention } = await startEndToEnd(t)
    discord.say(ada, dm, 'before')
    await shown(discord, hasText('before'))
    await gateway.stop()
    discord.say(ada, dm, 'meanwhile')
    const { id } = discord.say(ada, discord.general, `${mention} in the channel`)
    await gateway.start()
    await shown(discord, hasText('meanwhile'))
    await shown(discord, ({ channel_id, content }) => channel_id === id && content.includes('in the channel'))
    await gateway.stop()
    await gateway.start()
    discord.say(ada, dm, 'after')
    await shown(discord, hasText('after'))
    assert.equal(discord.sent().length, 4)
  })

  test('a reply whose response was lost is shown once', async (t) => {
    const { discord, ada, dm } = await startEndToEnd(t)
    discord.faults.dropResponse('POST /channels/:id/messages')
    discord.say(ada, dm, 'hello')
    await shown(discord, hasText('hello'))
    discord.say(ada, dm, 'and again')
    await shown(discord, hasText('and again'))
    assert.equal(discord.sent(dm.id).filter(hasText('hello')).length, 1)
    assert.ok(discord.sent(dm.id).every(({ content }) => !content.includes('duplicate')))
  })

  test('many rate limits lose no reply, and no call is made too early', async (t) => {
    const { discord } = await startEndToEnd(t, { allow_from: ['*'] })
    const window = discord.faults.limit({
      on: /^(POST|PATCH) \/channels\/:id\/messages/,
      ms: 500,
      windows: 3,
      scope: 'account',
    })
    const people = ['Ada', 'Bob', 'Cy', 'Di'].map((name) => discord.person(name))
    for (const person of people) discord.say(person, discord.dm(person), `question of ${person.username}`)
    for (const { username } of people) await shown(discord, hasText(`question of ${username}`))
    assert.ok(window.refused() > 0)
    assert.equal(discord.faults.earlyCalls(), 0)
    assert.equal(discord.sent().length, people.length)
  })

  test('a revoked token stops only this platform', async (t) => {
    const { discord, gateway, ada, dm } = await startEndToEnd(t)
    discord.faults.respond(
      'POST /channels/:id/messages',
      { status: 401, body: { message: '401: Unauthorized', code: 0 } },
      Number.POSITIVE_INFINITY,
    )
    discord.say(ada, dm, 'hello')
    await gateway.waitForLog({ event: 'platform.failed' })
    const ready = Object(await (await gateway.http('/readyz')).json())
    assert.deepEqual([ready.status, ready.platforms.discord.state], ['ready', 'failed'])
    assert.ok(
      gateway.log.every((line) => !line.includes(discord.bot.token)),
      'the log contains the token',
    )
  })

  test('without the intent the platform fails at the start and names the setting', async (t) => {
    const { gateway } = await startEndToEnd(t, {}, {}, { messageContent: false })
    const { state, reason = '' } = await health(gateway)
    assert.equal(state, 'failed')
    assert.match(reason, /\(4014\).*Message Content Intent/)
  })

  test('two bots of one gateway have separate connections and conversations', async (t) => {
    const discord = await startDiscordServer({ bots: ['Workbot'] })
    const work = discord.bots.get('Workbot')
    assert.ok(work)
    const ada = discord.person('Ada')
    const gateway = await startTestGateway(t, {
      config: {
        platforms: {
          fake: { enabled: false },
          discord: {
            ...optionsFor(discord, discord.bot),
            allow_from: [ada.id],
            accounts: { work: { token: work.token } },
          },
        },
      },
    })
    t.after(discord.close)
    const home = discord.dm(ada)
    const office = discord.dm(ada, work)
    discord.say(ada, home, 'at home')
    discord.say(ada, office, 'at work')
    const atHome = await shown(
      discord,
      ({ channel_id, content }) => channel_id === home.id && content.includes('at home'),
    )
    const atWork = await shown(
      discord,
      ({ channel_id, content }) => channel_id === office.id && content.includes('at work'),
    )
    assert.deepEqual([atHome.author.username, atWork.author.username], ['Hermes', 'Workbot'])
    // Each resumes its own session.
    discord.gateway.cut()
    await until(() => discord.gateway.counts.resumed === 2, discord)
    discord.say(ada, office, 'still at work')
    await shown(discord, ({ channel_id, content }) => channel_id === office.id && content.includes('still at work'))
    assert.equal(discord.gateway.counts.identified, 2)
    assert.equal(gateway.model.requests.length, 3)
  })

  test('a file of a user reaches the agent', async (t) => {
    const { discord, gateway, ada, dm } = await startEndToEnd(t)
    const attachments = [discord.file('notes.txt', 'text/plain', Buffer.from('Buy milk.'))]
    discord.say(ada, dm, 'What do I need?', { attachments })
    await shown(discord, hasText('What do I need?'))
    assert.match(JSON.stringify((await gateway.modelRequest(0)).body), /Attached document: [^"]*media/)
  })

  test('a file that the agent sends is uploaded', async (t) => {
    const path = join(tempHome(t), 'list.txt')
    writeFileSync(path, 'Buy milk.')
    const { discord, ada, dm } = await startEndToEnd(t, {}, { replies: [{ text: `Here it is.\n\nMEDIA:"${path}"` }] })
    discord.say(ada, dm, 'Write me a list')
    const upload = await shown(discord, ({ attachments }) => attachments.length === 1)
    assert.equal(upload.attachments[0]?.['filename'], 'list.txt')
    assert.equal(discord.fileOf(String(upload.attachments[0]?.['url']))?.toString(), 'Buy milk.')
    assert.equal(discord.sent(dm.id)[0]?.content, 'Here it is.')
  })

  test('status reactions are shown if they are configured', async (t) => {
    const { discord, ada, dm, mention } = await startEndToEnd(t, { reactions: true })
    const direct = discord.say(ada, dm, 'hello')
    await until(() => [...direct.reactions.keys()].join() === '✅', discord)
    const inChannel = discord.say(ada, discord.general, `${mention} hello`)
    await until(() => [...inChannel.reactions.keys()].join() === '✅', discord)
  })
})

test('a script sends to a channel by its name, and a channel that was deleted is skipped the next time', async (t) => {
  const { discord, gateway } = await startEndToEnd(t)
  const send = async (target: string) => {
    const response: unknown = await (await gateway.post('/api/send', { targets: [target], text: 'all clear' })).json()
    return [at(response, 'results', 0, 'status'), at(response, 'results', 0, 'chat')]
  }
  assert.deepEqual(await send('discord:#general'), ['sent', `discord:${discord.general.id}`])
  assert.equal((await shown(discord, hasText('all clear'))).channel_id, discord.general.id)
  const gone = 'discord:1180000000000000777'
  assert.deepEqual(await send(gone), ['failed', gone])
  assert.deepEqual(await send(gone), ['skipped', gone])
})

test('at the start the instructions of BOOT.md send a message to Discord #general', async (t) => {
  const says = 'Gateway restarted, all systems go'
  const { discord } = await startEndToEnd(
    t,
    {},
    {
      prepare: (home) =>
        writeFileSync(
          join(home.root, 'BOOT.md'),
          `# Startup\n\n1. Send a message to Discord #general saying "${says}"\n`,
        ),
      model: (request) =>
        hasResult(request)
          ? { text: '[SILENT]' }
          : { toolCalls: [{ name: 'send_message', arguments: { target: 'discord:#general', message: says } }] },
    },
  )
  const { channel_id } = await shown(discord, hasText(says))
  assert.equal(channel_id, discord.general.id)
})
