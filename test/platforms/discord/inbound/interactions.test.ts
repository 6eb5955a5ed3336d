/**
 * Slash commands and buttons: registration, ingestion, and responses in time that only their user sees.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toApplicationCommands } from '../../../../platforms/discord/connection/commands.ts'
import { fixedReplies } from '../../../../platforms/discord/inbound/interaction-responder.ts'
import { HermesError } from '../../../../src/lib/errors.ts'
import { validateCommands } from '../../../kit/servers/discord/validate.ts'
import { messageTo, neverAborted, startDiscordTest, until, waitForEvent } from '../support.ts'

test('slash commands are registered once, and again only after a change', async (t) => {
  const { discord, gateway, createAnother } = await startDiscordTest(t)
  await until(() => discord.counts.commandPuts === 1, discord)
  assert.deepEqual(
    discord.commandsOf().map(({ name, description }) => [name, description]),
    [
      ['new', 'Begins a new conversation.'],
      ['stop', 'Stops the answer that is being written.'],
    ],
  )
  const reads = () => discord.faults.calls('GET /applications/:id/commands')
  await createAnother().connect(neverAborted)
  await until(() => reads() === 2, discord)
  assert.equal(discord.counts.commandPuts, 1)
  gateway.commands.push({ name: 'status', description: 'Shows what it does.', argsHint: '' })
  await createAnother().connect(neverAborted)
  await until(() => discord.counts.commandPuts === 2, discord)
  assert.equal(discord.commandsOf().length, 3)
})

test('the bot works when its commands cannot be registered', async (t) => {
  const { discord, gateway, adapter, ada, dm } = await startDiscordTest(t, { connect: false })
  discord.faults.respond('PUT /applications/:id/commands', {
    status: 403,
    body: { message: 'Missing Access', code: 50001 },
  })
  await adapter.connect(neverAborted)
  await until(() => gateway.logLines.some((line) => line.includes('discord.commands_failed')), gateway)
  discord.say(ada, dm, 'hello')
  await waitForEvent(gateway, 'hello')
})

test('Discord accepts the list for any registry', () => {
  const entries = [
    { name: 'reload-mcp', description: 'x'.repeat(300), argsHint: '[name] or nothing' },
    { name: 'codex_runtime', description: '', argsHint: '' },
    { name: 'reasoning', description: 'How much', argsHint: '[low|high]', choices: ['low', 'high'] },
    { name: 'many', description: 'Too many', argsHint: '[n]', choices: Array.from({ length: 26 }, String) },
    { name: 'UPPER', description: 'no', argsHint: '' },
    { name: 'two words', description: 'no', argsHint: '' },
    { name: '', description: 'no', argsHint: '' },
    ...Array.from({ length: 200 }, (_, index) => ({ name: `skill-${index}`, description: 'A skill.', argsHint: '' })),
  ]
  const commands = toApplicationCommands(entries)
  assert.equal(commands.length, 100)
  assert.equal(validateCommands(commands), undefined)
  assert.deepEqual(
    commands.slice(0, 2).map(({ name }) => name),
    ['reload-mcp', 'codex_runtime'],
  )
  const choices = JSON.parse(JSON.stringify(commands.slice(2, 4)))
  assert.deepEqual(choices[0].options[0].choices, [
    { name: 'low', value: 'low' },
    { name: 'high', value: 'high' },
  ])
  assert.equal(choices[1].options[0].choices, undefined)
})

test('a chosen command is ingested like a typed one, and only its user sees the response', async (t) => {
  const { discord, gateway, ada } = await startDiscordTest(t)
  const response = await discord.choose(ada, discord.general, 'queue', 'oil the `gear`')
  assert.equal(response, "On it: `/queue oil the 'gear'`")
  const { event, keys } = await waitForEvent(gateway, '/queue oil the `gear`')
  assert.equal(event.messageType, 'command')
  assert.deepEqual([event.source.chatId, event.source.userId], [discord.general.id, ada.id])
  assert.match(keys[0] ?? '', /^dc:\d+$/)
  assert.deepEqual(discord.sent(), [])
})

test('a command is not acknowledged before it is stored', async (t) => {
  const { discord, gateway, ada, dm } = await startDiscordTest(t)
  const release = gateway.holdAccepts()
  const attempt = gateway.nextAttempt()
  let isTold = false
  const response = discord.choose(ada, dm, 'new').then(() => {
    isTold = true
  })
  await attempt
  assert.equal(isTold, false)
  release()
  await response
  assert.equal(gateway.ingestedEvents.length, 1)
})

test('a message behind others of its channel may overtake them, unless its response opens a thread', async (t) => {
  const { discord, gateway, ada, dm, mention } = await startDiscordTest(t)
  const release = gateway.holdAccepts()
  const attempt = gateway.nextAttempt()
  discord.say(ada, dm, 'one')
  await attempt
  discord.say(ada, dm, '/stop')
  discord.say(ada, discord.general, `${mention} one`)
  discord.say(ada, discord.general, `${mention} two`)
  await until(() => gateway.overtaking.length > 0, gateway)
  release()
  await waitForEvent(gateway, 'two')
  assert.deepEqual(
    gateway.overtaking.map(({ event }) => event.text),
    ['/stop'],
  )
})

test('a command that takes long to store is deferred in time and responded to later', async (t) => {
  const { discord, gateway, ada, dm } = await startDiscordTest(t, { deferAfterMs: 20 })
  const release = gateway.holdAccepts()
  const response = discord.choose(ada, dm, 'new')
  await until(() => discord.faults.calls('POST /interactions/:id/:token/callback') === 1, discord)
  release()
  assert.equal(await response, 'On it: `/new`')
  assert.equal(discord.faults.calls('PATCH /webhooks/:id/:token/messages/@original'), 1)
})

test('a command that could not be stored is rejected, and the user is asked to try again', async (t) => {
  const { discord, gateway, ada, dm } = await startDiscordTest(t)
  gateway.failNextAccept(new HermesError('store/full'))
  assert.equal(await discord.choose(ada, dm, 'new'), fixedReplies.notStored)
  assert.equal(gateway.ingestedEvents.length, 0)
})

test('a user who is not allowed is told so in private', async (t) => {
  const { discord, gateway, ada } = await startDiscordTest(t)
  gateway.refuse('the user is on no allow list')
  const response = await discord.choose(ada, discord.general, 'new')
  assert.match(response, /the user is on no allow list/)
  assert.deepEqual(discord.sent(), [])
})

test('in a channel where the bot does not respond, commands and buttons say so', async (t) => {
  const { discord, gateway, adapter, ada, targetFor, createAnother } = await startDiscordTest(t)
  const sent = await adapter.send(
    messageTo(targetFor(discord.general.id), 'May I?', { buttons: [{ id: 'b', label: 'Yes' }] }),
    neverAborted,
  )
  assert.ok(sent.success)
  await adapter.disconnect()
  await createAnother({ ignored_channels: [discord.general.id] }).connect(neverAborted)
  assert.equal(await discord.choose(ada, discord.general, 'new'), fixedReplies.ignoredChannel)
  const [message] = discord.sent()
  assert.ok(message)
  assert.equal(await discord.press(ada, message, 'b'), fixedReplies.ignoredChannel)
  assert.deepEqual([gateway.ingestedEvents.length, gateway.presses.length], [0, 0])
})

test('only the user who pressed a button sees the response, in threads too', async (t) => {
  const { discord, gateway, adapter, ada, targetFor } = await startDiscordTest(t)
  const thread = discord.world.thread(discord.general, 'Gears', discord.bot.user)
  const buttons = [{ id: 'appr:1:once', label: 'Once' }]
  await adapter.send(messageTo(targetFor(discord.general.id, thread.id), 'May I?', { buttons }), neverAborted)
  const [message] = discord.sent(thread.id)
  assert.ok(message)
  assert.equal(await discord.press(ada, message, 'appr:1:once'), 'Noted.')
  const [press] = gateway.presses
  assert.deepEqual(
    [press?.buttonId, press?.messageId, press?.source.userId, press?.source.threadId, press?.source.chatId],
    ['appr:1:once', message.id, ada.id, thread.id, discord.general.id],
  )
})

test('a response that comes too late or twice is only logged', async (t) => {
  const { discord, gateway, ada, dm } = await startDiscordTest(t)
  for (const code of [10062, 40060]) {
    discord.faults.respond('POST /interactions/:id/:token/callback', { status: 404, body: { message: 'late', code } })
    void discord.choose(ada, dm, 'new')
  }
  await until(
    () => gateway.logLines.filter((line) => line.includes('discord.interaction_expired')).length === 2,
    gateway,
  )
  assert.ok(gateway.logLines.every((line) => !line.includes('"level":"warn"') && !line.includes('"level":40')))
})
