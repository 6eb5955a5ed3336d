import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBotApi } from '../../../../platforms/telegram/connection/api.ts'
import { createIngest } from '../../../../platforms/telegram/inbound/ingest.ts'
import { normalize } from '../../../../platforms/telegram/inbound/normalize.ts'
import { parseOptions } from '../../../../platforms/telegram/options.ts'
import { HermesError } from '../../../../src/lib/errors.ts'
import type { PlatformContext } from '../../../../src/platforms/context.ts'
import { createRecordingContext } from '../../../kit/recording-context.ts'
import { defaultUser } from '../../../kit/servers/telegram-server.ts'
import { signal, startTelegramTest, target } from '../support.ts'

const photo = (file_id: string) => ({ photo: [{ file_id, file_unique_id: file_id, width: 8, height: 8 }] })

const { botId, groups } = parseOptions({ token: '1:abc' }, 'default')
const normalizeContext = { platform: 'telegram', account: 'default', botId, username: 'Bot', groups }
const chat = { id: 42, type: 'private' }

/** An ingest in front of a Telegram that takes everything. */
function createIngestFor(context: PlatformContext) {
  const client = { callApi: async () => ({}) }
  const api = createBotApi({ token: '1:abc', apiRoot: 'http://127.0.0.1/', ownApiRoot: true }, client)
  const account = { context, api, stopping: new AbortController() }
  return createIngest(account, normalizeContext, async () => ({ success: true }))
}

test('an event has the key of its update and the key of its message, by which edits find it', () => {
  const message = (message_id: number) => ({
    message_id,
    from: defaultUser,
    chat,
    date: 1,
    media_group_id: 'm',
    ...photo('p'),
  })
  const names = (...updates: readonly unknown[]) =>
    normalize(updates, normalizeContext).map((event) => (event.kind === 'press' ? [] : event.keys))
  assert.deepEqual(names({ update_id: 5, message: message(9) }), [['tg:1:5', 'tg:1:m:42:9']])
  assert.deepEqual(names({ update_id: 5, message: message(9) }, { update_id: 6, message: message(10) }), [
    ['tg:1:5', 'tg:1:m:42:9', 'tg:1:6', 'tg:1:m:42:10'],
  ])
  const edit = { message_id: 9, from: defaultUser, chat, date: 1, text: 'x' }
  assert.deepEqual(names({ update_id: 7, edited_message: edit }), [['tg:1:7']])
  const reactions = { old_reaction: [], new_reaction: ['👍', '❤'].map((emoji) => ({ type: 'emoji', emoji })) }
  assert.deepEqual(
    names({ update_id: 8, message_reaction: { chat, message_id: 9, user: defaultUser, date: 1, ...reactions } }),
    [['tg:1:8'], ['tg:1:8:2']],
  )
})

test('an album is completed when one of its parts was accepted earlier', async () => {
  const { context, ingestedEvents } = createRecordingContext({ platform: 'telegram' })
  const ingest = createIngestFor(context)
  const part = (id: number) => ({
    update_id: id,
    message: { message_id: id, from: defaultUser, chat, date: 1, media_group_id: 'm', ...photo(`file-${id}`) },
  })
  await ingest([part(1)])
  await ingest([part(1), part(2), part(3)])
  const accepted = ingestedEvents.filter(({ accepted: { status } }) => status === 'accepted')
  assert.deepEqual(
    accepted.map(({ event }) => (event.attachments ?? []).map(({ ref }) => ref)),
    [['file-1'], ['file-2'], ['file-3']],
  )
})

test('a part of an album that is too large does not block the other parts', async () => {
  const { context, ingestedEvents, failNextAccept } = createRecordingContext({ platform: 'telegram' })
  const ingest = createIngestFor(context)
  const part = (id: number) => ({
    update_id: id,
    message: { message_id: id, from: defaultUser, chat, date: 1, media_group_id: 'm', ...photo(`file-${id}`) },
  })
  await ingest([part(1)])
  let calls = 0
  const accept = context.accept
  const strict = {
    ...context,
    accept: (...given: Parameters<typeof accept>) => {
      calls += 1
      // The album itself is known; its second part is too large.
      if (calls === 3) failNextAccept(new HermesError('inbox/too-large'))
      return accept(...given)
    },
  }
  await createIngestFor(strict)([part(1), part(2), part(3)])
  assert.equal(ingestedEvents.at(-1)?.event.attachments?.[0]?.ref, 'file-3')
})

test('a chat whose message cannot be stored does not block other chats', async (t) => {
  const { server, gateway } = await startTelegramTest(t)
  server.bot.chats.add({ id: 77, type: 'private' })
  gateway.failNextAccept(new HermesError('store/locked'))
  const bob = { id: 77, first_name: 'Bob' }
  await Promise.all([
    server.bot.say('from Ada').confirmed,
    server.bot.say('from Bob', { chat: 77, from: bob }).confirmed,
  ])
  const accepted = gateway.ingestedEvents.filter(({ accepted: { status } }) => status === 'accepted')
  assert.deepEqual(accepted.map(({ event }) => event.text).sort(), ['from Ada', 'from Bob'])
})

test('messages of one chat are accepted in order', async (t) => {
  const { server, gateway, adapter, createAnother } = await startTelegramTest(t)
  await adapter.disconnect()
  const all = ['one', 'two', 'three'].map((text) => server.bot.say(text).confirmed)
  await createAnother().connect(signal)
  await Promise.all(all)
  assert.deepEqual(
    gateway.ingestedEvents.map(({ event }) => event.text),
    ['one', 'two', 'three'],
  )
})

test('a button press that could not be stored is delivered again and answered then', async (t) => {
  const { server, gateway, adapter } = await startTelegramTest(t)
  const sent = await adapter.send(
    { deliveryId: 'd', target, text: 'May I?', kind: 'reply', buttons: [{ id: 'appr:1:yes', label: 'Yes' }] },
    signal,
  )
  assert.ok(sent.success)
  gateway.failNextAccept(new HermesError('store/full'))
  gateway.answerPresses({ status: 'taken', text: `Noted. ${'x'.repeat(300)}` })
  const response = await server.bot.press(Number(sent.messageId), 'appr:1:yes')
  assert.equal(response.length, 200)
  assert.equal(gateway.presses.length, 1)
})

test('a button press that is too old to be answered causes no failure', async (t) => {
  const { server, gateway } = await startTelegramTest(t)
  const release = gateway.holdAccepts()
  void server.bot.press(1, 'appr:1:yes')
  await gateway.nextAttempt()
  server.bot.forgetPresses()
  release()
  await server.bot.say('still there?').confirmed
  assert.deepEqual(
    gateway.ingestedEvents.map(({ event }) => event.text),
    ['still there?'],
  )
})

test('a button that the gateway did not create is answered, too', async (t) => {
  const { server } = await startTelegramTest(t)
  assert.equal(await server.bot.press(1, ''), 'This button is no longer in use.')
})

test('a slow message delays its own chat only, and the order within a chat holds', async () => {
  const { context, ingestedEvents, overtaking } = createRecordingContext({ platform: 'telegram' })
  const slow = Promise.withResolvers<void>()
  const accept = context.accept
  const slowContext = {
    ...context,
    async accept(...given: Parameters<typeof accept>) {
      if (given[0].text === 'slow') await slow.promise
      return await accept(...given)
    },
  }
  const message = (id: number, chatId: number, text: string) => ({
    update_id: id,
    message: { message_id: id, from: defaultUser, chat: { id: chatId, type: 'private' }, date: 1, text },
  })
  const texts = () => ingestedEvents.map(({ event }) => event.text)
  const ingest = createIngestFor(slowContext)
  const first = ingest([message(1, 42, 'slow')])
  const second = ingest([message(2, 42, 'after it')])
  await ingest([message(3, 43, '/stop')])
  assert.deepEqual(texts(), ['/stop'])
  assert.deepEqual(
    overtaking.map(({ event }) => event.text),
    ['after it'],
    'only a message that waits may overtake',
  )
  slow.resolve()
  await Promise.all([first, second])
  assert.deepEqual(texts(), ['/stop', 'slow', 'after it'])
})

test('the press of a button does not wait for a slow message of its chat', async (t) => {
  const { server, gateway } = await startTelegramTest(t)
  const sent = await server.bot.say('first').confirmed.then(() => 1)
  const slow = Promise.withResolvers<void>()
  t.after(() => slow.resolve())
  gateway.context.accept = async () => {
    await slow.promise
    return { status: 'accepted', seq: 2 }
  }
  void server.bot.say('slow').confirmed.catch(() => undefined)
  await server.bot.press(sent, 'appr:1:yes')
  assert.equal(gateway.presses.length, 1)
})

test('a message behind one that could not be stored is delivered again after it', async () => {
  const { context, ingestedEvents, failNextAccept } = createRecordingContext({ platform: 'telegram' })
  const ingest = createIngestFor(context)
  const message = (id: number) => ({
    update_id: id,
    message: { message_id: id, from: defaultUser, chat, date: 1, text: `message ${id}` },
  })
  failNextAccept(new HermesError('store/full'))
  const results = await Promise.allSettled([ingest([message(1)]), ingest([message(2)])])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await ingest([message(1), message(2)])
  assert.deepEqual(
    ingestedEvents.map(({ event }) => event.text),
    ['message 1', 'message 2'],
  )
})
