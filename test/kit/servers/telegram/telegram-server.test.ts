/**
 * The local Bot API answers as the documents say, so that what works with it works with Telegram.
 */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { defaultUser, startTelegramServer } from '../telegram-server.ts'
import { ParseError, parseHtml } from './html.ts'

type Fields = Readonly<Record<string, unknown>>

async function start(t: TestContext) {
  const server = await startTelegramServer({ retryMs: 1 })
  t.after(server.close)
  const { bot } = server
  const url = (method: string, token = bot.token) => `${server.url}/bot${token}/${method}`
  const call = async (method: string, fields: Fields = {}, token?: string) => {
    const response = await fetch(url(method, token), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    })
    const answer = Object(await response.json())
    assert.equal(response.status, answer.ok ? 200 : answer.error_code)
    return answer
  }
  const refused = async (method: string, fields: Fields) => String((await call(method, fields)).description)
  const ids = async (fields: Fields = {}) =>
    (await call('getUpdates', fields)).result.map(({ update_id }: { update_id: number }) => update_id)
  return { server, bot, url, call, refused, ids }
}

test('parameters come in the query, as JSON, as a form or as a form with files', async (t) => {
  const { bot, url } = await start(t)
  const form = new FormData()
  form.append('chat_id', '42')
  form.append('text', 'multipart')
  form.append('reply_markup', JSON.stringify({ inline_keyboard: [[{ text: 'a', callback_data: 'b' }]] }))
  await fetch(`${url('sendMessage')}?chat_id=42&text=query`)
  await fetch(url('sendMessage'), { method: 'POST', body: new URLSearchParams({ chat_id: '42', text: 'form' }) })
  await fetch(url('sendMessage'), { method: 'POST', body: form })
  assert.deepEqual(
    bot.chats.shown.map(({ text, keyboard }) => [text, keyboard.length]),
    [
      ['query', 0],
      ['form', 0],
      ['multipart', 1],
    ],
  )
})

test('a wrong token and an unknown method are told apart', async (t) => {
  const { call } = await start(t)
  assert.deepEqual(await call('getMe', {}, '1:wrong'), { ok: false, error_code: 401, description: 'Unauthorized' })
  assert.equal((await call('getMe', {}, 'nonsense')).description, 'Not Found')
  assert.equal((await call('doMagic')).description, 'Not Found: method not found')
})

test('updates come again until an offset confirms them; a negative one forgets all but the last', async (t) => {
  const { bot, ids, call } = await start(t)
  const said = ['a', 'b', 'c', 'd'].map((text) => bot.say(text))
  assert.deepEqual(await ids(), [1_001, 1_002, 1_003, 1_004])
  assert.deepEqual(await ids({ limit: 2 }), [1_001, 1_002])
  assert.deepEqual(await ids({ offset: 1_002 }), [1_002, 1_003, 1_004])
  await said[0]?.confirmed
  assert.deepEqual(await ids({ offset: -1 }), [1_004])
  assert.deepEqual(await ids(), [1_004])
  assert.equal((await call('getWebhookInfo')).result.pending_update_count, 1)
})

test('a long poll is answered as soon as something comes', async (t) => {
  const { bot, ids } = await start(t)
  const waiting = ids({ timeout: 50 })
  await bot.called('getUpdates')
  bot.say('now')
  assert.deepEqual(await waiting, [1_001])
})

test('of two polls the older one is ended; with a webhook there is none', async (t) => {
  const { bot, call } = await start(t)
  const older = call('getUpdates', { timeout: 50 })
  await bot.called('getUpdates')
  const newer = call('getUpdates', { timeout: 50 })
  assert.match((await older).description, /^Conflict: terminated by other getUpdates request;/)
  bot.say('x')
  assert.equal((await newer).result.length, 1)
  await call('setWebhook', { url: 'http://127.0.0.1:9/' })
  assert.match(
    (await call('getUpdates')).description,
    /^Conflict: can't use getUpdates method while webhook is active;/,
  )
})

test('only updates of the kinds that were asked for are kept', async (t) => {
  const { bot, ids, call } = await start(t)
  await bot.push({ message_reaction: {} }).confirmed
  await call('getUpdates', { allowed_updates: ['message_reaction'] })
  bot.push({ message_reaction: {} })
  await bot.say('not wanted').confirmed
  assert.deepEqual(await ids(), [1_002])
})

test('a webhook is called with its secret, in order, until it answers with 2xx', async (t) => {
  const { bot, call } = await start(t)
  const calls: string[] = []
  let failures = 2
  const receiver = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    calls.push(`${request.headers['x-telegram-bot-api-secret-token']} ${JSON.parse(body).update_id}`)
    failures -= 1
    response.writeHead(failures >= 0 ? 500 : 200).end()
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => receiver.close(resolve)))
  t.after(() => receiver.closeAllConnections())
  const address = receiver.address()
  assert.ok(typeof address === 'object' && address !== null)
  assert.match(
    (await call('setWebhook', { url: 'http://x', secret_token: 'not allowed!' })).description,
    /secret token contains unallowed characters/,
  )
  await call('setWebhook', { url: `http://127.0.0.1:${address.port}/`, secret_token: 's' })
  await Promise.all([bot.say('a').confirmed, bot.say('b').confirmed])
  assert.deepEqual(calls, ['s 1001', 's 1001', 's 1001', 's 1002'])
  assert.equal(
    (await call('getWebhookInfo')).result.last_error_message,
    'Wrong response from the webhook: 500 Internal Server Error',
  )
})

test('messages are refused in the words of Telegram', async (t) => {
  const { bot, call, refused } = await start(t)
  bot.chats.add({ id: -9, type: 'supergroup', is_forum: true, topics: [3] })
  const html = (text: string) => refused('sendMessage', { chat_id: 42, text, parse_mode: 'HTML' })
  assert.equal(await refused('sendMessage', { chat_id: 1, text: 'x' }), 'Bad Request: chat not found')
  assert.equal(await refused('sendMessage', { chat_id: 42, text: ' \n ' }), 'Bad Request: message text is empty')
  assert.equal(await html('<b></b>'), 'Bad Request: message text is empty')
  assert.equal(
    await refused('sendMessage', { chat_id: 42, text: 'x'.repeat(4_097) }),
    'Bad Request: message is too long',
  )
  assert.equal((await call('sendMessage', { chat_id: 42, text: '&amp;'.repeat(4_096), parse_mode: 'HTML' })).ok, true)
  assert.equal(
    await html('<b>x'),
    'Bad Request: can\'t parse entities: Can\'t find end tag corresponding to start tag "b"',
  )
  assert.equal(
    await refused('sendMessage', { chat_id: -9, message_thread_id: 4, text: 'x' }),
    'Bad Request: message thread not found',
  )
  const reply_parameters = { message_id: 77 }
  assert.equal(
    await refused('sendMessage', { chat_id: 42, text: 'x', reply_parameters }),
    'Bad Request: message to be replied not found',
  )
  const reply_markup = { inline_keyboard: [[{ text: 'a', callback_data: 'ü'.repeat(33) }]] }
  assert.equal(
    await refused('sendMessage', { chat_id: 42, text: 'x', reply_markup }),
    'Bad Request: BUTTON_DATA_INVALID',
  )
})

test('an album is shown as a whole or not at all, in the words of Telegram', async (t) => {
  const { bot, call, refused } = await start(t)
  const photo = { type: 'photo', media: 'https://files.example/a.png' }
  const refusedMedia = (...media: readonly Fields[]) => refused('sendMediaGroup', { chat_id: 42, media })
  assert.match(await refusedMedia(), /there are no messages to send/)
  assert.match(await refusedMedia(...Array.from({ length: 11 }, () => photo)), /too many messages to send as an album/)
  assert.match(await refusedMedia(photo, { ...photo, type: 'document' }), /can't be mixed with other media types/)
  assert.match(await refusedMedia(photo, { ...photo, type: 'animation' }), /can't be used in sendMediaGroup/)
  assert.match(await refusedMedia(photo, { ...photo, media: 'attach://file1' }), /media not found/)
  assert.match(await refusedMedia(photo, { ...photo, caption: 'x'.repeat(1_025) }), /caption is too long/)
  assert.equal(bot.chats.shown.length, 0)
  const media = [photo, { ...photo, type: 'video', caption: '<b>b</b>', parse_mode: 'HTML' }]
  const { result } = await call('sendMediaGroup', { chat_id: 42, media })
  assert.deepEqual(
    bot.chats.shown.map(({ file, text }) => [file?.field, text]),
    [
      ['photo', ''],
      ['video', 'b'],
    ],
  )
  assert.equal(result.length, 2)
  assert.equal(result[0].media_group_id, result[1].media_group_id)
  assert.notEqual(result[0].message_id, result[1].message_id)
})

test('an edit changes the text, takes the buttons away, and must change something', async (t) => {
  const { bot, call, refused } = await start(t)
  const reply_markup = { inline_keyboard: [[{ text: 'a', callback_data: 'b' }]] }
  const { message_id } = (await call('sendMessage', { chat_id: 42, text: ' x ', reply_markup })).result
  const edit = { chat_id: 42, message_id }
  assert.match(
    await refused('editMessageText', { ...edit, text: 'x', reply_markup }),
    /message is not modified: specified new/,
  )
  assert.equal((await call('editMessageText', { ...edit, text: 'x' })).result.reply_markup, undefined)
  assert.equal(
    await refused('editMessageText', { chat_id: 42, message_id: 99, text: 'y' }),
    'Bad Request: message to edit not found',
  )
  bot.say('mine')
  const mine = { chat_id: 42, message_id: message_id + 1, text: 'y' }
  assert.equal(await refused('editMessageText', mine), "Bad Request: message can't be edited")
  assert.equal((await call('deleteMessage', edit)).result, true)
  assert.equal(await refused('deleteMessage', edit), 'Bad Request: message to delete not found')
})

test('a press is answered once, and not for ever', async (t) => {
  const { bot, call, refused } = await start(t)
  const told = bot.press(1, 'data', { from: defaultUser })
  const [{ callback_query }] = (await call('getUpdates')).result
  const answer = { callback_query_id: callback_query.id, text: 'Done' }
  assert.equal((await call('answerCallbackQuery', answer)).result, true)
  assert.equal(await told, 'Done')
  assert.match(
    await refused('answerCallbackQuery', answer),
    /query is too old and response timeout expired or query ID is invalid/,
  )
})

test('too many calls: how long to wait stands in the answer and in a header', async (t) => {
  const { server, url } = await start(t)
  server.faults.limit({ on: 'sendMessage', ms: 1_500 })
  const response = await fetch(`${url('sendMessage')}?chat_id=42&text=x`)
  const seconds = Number(response.headers.get('retry-after'))
  assert.ok(seconds >= 2, String(seconds))
  assert.deepEqual(
    [response.status, await response.json()],
    [
      429,
      {
        ok: false,
        error_code: 429,
        description: `Too Many Requests: retry after ${seconds}`,
        parameters: { retry_after: seconds },
      },
    ],
  )
})

test('HTML is read as strictly as Telegram reads it', () => {
  const shown = (source: string) => {
    const { text, entities } = parseHtml(source)
    return `${text} ${entities.map(({ type, offset, length }) => `${type} ${offset}+${length}`).join(', ')}`.trim()
  }
  assert.equal(shown('😀<b>a<i>b</i></b>&lt;&#8364;'), '😀ab<€ bold 2+2, italic 3+1')
  assert.equal(shown(' <b> x </b> '), 'x bold 0+1')
  assert.equal(shown('<pre><code class="language-ts">x</code></pre>'), 'x pre 0+1')
  assert.equal(shown('<a href="nowhere">x</a>'), 'x')
  const errors: readonly (readonly [string, string])[] = [
    ['<b>x', 'Can\'t find end tag corresponding to start tag "b"'],
    ['ü<x>', 'Unsupported start tag "x" at byte offset 2'],
    ['<b><i>x</b></i>', 'Unmatched end tag at byte offset 7, expected "</i>", found "</b>"'],
    ['x</b>', 'Unexpected end tag at byte offset 1'],
    ['a < b', 'Unclosed start tag at byte offset 2'],
    ['a < b >', 'Unsupported start tag "" at byte offset 2'],
    ['<b', 'Unclosed start tag at byte offset 0'],
  ]
  for (const [source, message] of errors) {
    assert.throws(
      () => parseHtml(source),
      (error) => error instanceof ParseError && error.message === message,
      source,
    )
  }
})
