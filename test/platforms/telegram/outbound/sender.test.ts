import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mediaMethodOf } from '../../../../platforms/telegram/outbound/media.ts'
import { createRateLimitScope } from '../../../../platforms/telegram/outbound/sender.ts'
import type { OutboundAttachment, OutboundMessage } from '../../../../src/message/outbound.ts'
import type { PlatformAdapter } from '../../../../src/platforms/adapter.ts'
import { oggOpus } from '../../../kit/servers/media-server.ts'
import { ApiError } from '../../../kit/servers/telegram/params.ts'
import { signal, startTelegramTest, target } from '../support.ts'

const message: OutboundMessage = { deliveryId: 'd', target, text: 'Hello', kind: 'reply' }
const file = (fields: Partial<OutboundAttachment> = {}): OutboundAttachment => ({
  kind: 'image',
  fileName: 'dot.png',
  mimeType: 'image/png',
  source: { kind: 'file', bytes: 3, open: async () => new Blob(['abc']) },
  ...fields,
})
const refusal = (error_code: number, description: string) => ({
  status: error_code,
  body: { ok: false, error_code, description },
})

async function failureOf(result: ReturnType<PlatformAdapter['send']>) {
  const failure = await result
  assert.ok(!failure.success)
  return failure
}

test('a message that Telegram cannot parse is sent again unformatted', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  server.faults.respond('sendMessage', refusal(400, "Bad Request: can't parse entities: Unsupported start tag"))
  const result = await adapter.send({ ...message, text: 'a **b**' }, signal)
  assert.ok(result.success)
  assert.deepEqual(
    server.bot.chats.shown.map(({ text }) => text),
    ['a **b**'],
  )
  server.faults.respond('editMessageText', refusal(400, "Bad Request: can't parse entities: Unsupported start tag"))
  assert.ok((await adapter.edit?.(result.messageId ?? '', { ...message, text: '*c*' }, true, signal))?.success)
  assert.equal(server.bot.chats.shown[0]?.text, '*c*')
})

test("a message that is refused twice is rejected with Telegram's description", async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  server.faults.respond('sendMessage', refusal(400, "Bad Request: can't parse entities"), 2)
  const failure = await failureOf(adapter.send({ ...message, text: '*a*' }, signal))
  assert.deepEqual(
    [failure.problem, failure.error],
    ['rejected', "Telegram answered 400: Bad Request: can't parse entities"],
  )
})

test('an empty text is not sent', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const failure = await failureOf(adapter.send({ ...message, text: ' \n\t' }, signal))
  assert.equal(failure.problem, 'rejected')
  assert.equal(server.faults.calls('sendMessage'), 0)
})

test('messages to a converted group go to its supergroup', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const { chats } = server.bot
  const was = 'Bad Request: group chat was upgraded to a supergroup chat'
  chats.add({ id: -5, type: 'group', gone: new ApiError(400, was, { migrate_to_chat_id: -1_005 }) })
  chats.add({ id: -1_005, type: 'supergroup' })
  const group = { ...message, target: { ...target, chatId: '-5' } }
  for (const text of ['one', 'two']) assert.ok((await adapter.send({ ...group, text }, signal)).success)
  assert.deepEqual(
    chats.shown.map(({ chat, text }) => [chat, text]),
    [
      [-1_005, 'one'],
      [-1_005, 'two'],
    ],
  )
  assert.equal(server.faults.calls('sendMessage'), 3)
})

test('a deleted topic and a blocked or removed bot reject the message with the reason', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  server.bot.chats.add({ id: -7, type: 'supergroup', is_forum: true })
  const topic = await failureOf(
    adapter.send({ ...message, target: { ...target, chatId: '-7', threadId: '3' } }, signal),
  )
  assert.equal(topic.problem, 'rejected')
  assert.match(topic.error, /\b400: Bad Request: message thread not found$/)
  for (const description of [
    'bot was blocked by the user',
    'bot was kicked from the group chat',
    'user is deactivated',
  ]) {
    server.faults.respond('sendMessage', refusal(403, `Forbidden: ${description}`))
    const failure = await failureOf(adapter.send(message, signal))
    assert.equal(failure.problem, 'rejected')
    assert.ok(failure.error.includes(description), failure.error)
  }
})

test('maybeSent is set only when the outcome of a call is unknown', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const { faults } = server
  faults.respond('sendMessage', refusal(502, 'Bad Gateway'))
  const failed = await failureOf(adapter.send(message, signal))
  assert.deepEqual([failed.problem, failed.maybeSent], ['temporary', true])
  faults.reset('sendMessage')
  assert.equal((await failureOf(adapter.send(message, signal))).maybeSent, true)
  faults.respond('editMessageText', refusal(502, 'Bad Gateway'))
  assert.ok(adapter.edit !== undefined)
  const edited = await failureOf(adapter.edit('1', message, true, signal))
  assert.deepEqual([edited.problem, edited.maybeSent], ['temporary', undefined])
  faults.startOutage('refuse')
  // The first may still go into a connection that is just being cut.
  await adapter.send(message, signal)
  const unsent = await failureOf(adapter.send(message, signal))
  assert.deepEqual([unsent.problem, unsent.maybeSent], ['temporary', undefined])
})

test('a response that is not JSON does not reveal the token', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  server.faults.respond(/^send/, { status: 200, body: '<html>proxy</html>' }, 2)
  const failures = [
    await failureOf(adapter.send(message, signal)),
    await failureOf(adapter.send({ ...message, attachment: file() }, signal)),
  ]
  for (const { problem, error, maybeSent } of failures) {
    assert.deepEqual([problem, maybeSent], ['temporary', true], error)
    assert.doesNotMatch(error, /AAtest/)
  }
})

test('a caption that is too long is sent as a separate message', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const text = `**${'long '.repeat(300).trim()}**`
  assert.ok((await adapter.send({ ...message, text, replyTo: '1', attachment: file() }, signal)).success)
  const [photo, words] = server.bot.chats.shown
  assert.deepEqual([photo?.file?.field, photo?.text], ['photo', ''])
  assert.equal(words?.text, 'long '.repeat(300).trim())
})

test('when that message fails, the retry is labelled, because the file has arrived', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  server.faults.respond('sendMessage', refusal(429, 'Too Many Requests: retry after 3'))
  const failure = await failureOf(adapter.send({ ...message, text: 'long '.repeat(300), attachment: file() }, signal))
  assert.deepEqual([failure.problem, failure.maybeSent], ['rate-limited', true])
})

test('a URL that Telegram cannot download is sent as a link', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const url = 'https://files.example/a.png'
  for (const words of [
    'failed to get HTTP URL content',
    'wrong file identifier/HTTP URL specified',
    'WEBPAGE_MEDIA_EMPTY',
  ]) {
    server.faults.respond('sendPhoto', refusal(400, `Bad Request: ${words}`))
    const attachment = file({ source: { kind: 'url', url } })
    assert.ok((await adapter.send({ ...message, text: 'A picture', attachment }, signal)).success)
  }
  assert.deepEqual(
    server.bot.chats.shown.map(({ text }) => text),
    Array.from({ length: 3 }, () => `A picture\n${url}`),
  )
})

test('an image that Telegram refuses as a photo is sent as a document', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  server.faults.respond('sendPhoto', refusal(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS'))
  assert.ok((await adapter.send({ ...message, text: 'Look', attachment: file() }, signal)).success)
  const [sent] = server.bot.chats.shown
  assert.deepEqual(
    [sent?.file?.field, sent?.text, Buffer.from(sent?.file?.bytes ?? []).toString()],
    ['document', 'Look', 'abc'],
  )
})

test('a file that is too large is rejected without being read', async (t) => {
  const { adapter } = await startTelegramTest(t)
  const open = () => Promise.reject(new Error('it was read'))
  const attachment = file({ source: { kind: 'file', bytes: 3_000_000_000, open }, fileName: 'film.mkv', kind: 'video' })
  const failure = await failureOf(adapter.send({ ...message, attachment }, signal))
  assert.equal(failure.problem, 'rejected')
  assert.match(failure.error, /film\.mkv.*2000 MB/)
})

test('each type of file is sent with its method', () => {
  const cases: readonly (readonly [OutboundAttachment['kind'], string, string, string])[] = [
    ['image', 'a.jpg', 'image/jpeg', 'sendPhoto'],
    ['image', 'a.svg', 'image/svg+xml', 'sendDocument'],
    ['image', 'a.gif', 'image/gif', 'sendAnimation'],
    ['animation', 'a.mp4', 'video/mp4', 'sendAnimation'],
    ['video', 'a.mp4', 'video/mp4', 'sendVideo'],
    ['video', 'a.mkv', 'video/x-matroska', 'sendDocument'],
    ['audio', 'a.mp3', 'audio/mpeg', 'sendAudio'],
    ['audio', 'a.m4a', '', 'sendAudio'],
    ['audio', 'a.wav', 'audio/wav', 'sendDocument'],
    ['audio', 'a.ogg', 'audio/ogg', 'sendDocument'],
    ['voice', 'a.ogg', 'audio/ogg; codecs=opus', 'sendVoice'],
    ['voice', 'a.mp3', 'audio/mpeg', 'sendAudio'],
    ['document', 'a.jpg', 'image/jpeg', 'sendDocument'],
  ]
  for (const [kind, fileName, mimeType, method] of cases) {
    assert.equal(mediaMethodOf(file({ kind, fileName, mimeType })).method, method, `${kind} ${fileName}`)
  }
  const huge = file({ source: { kind: 'file', bytes: 11 * 1024 * 1024, open: async () => new Blob([]) } })
  assert.equal(mediaMethodOf(huge).method, 'sendDocument')
})

test('a voice message says how long it is', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const voice = (bytes: Uint8Array) => {
    const source = { kind: 'file' as const, bytes: bytes.length, open: async () => new Blob([Buffer.from(bytes)]) }
    return file({ kind: 'voice', fileName: 'voice.ogg', mimeType: 'audio/ogg', source })
  }
  for (const bytes of [oggOpus(61.4), Buffer.from('OggS and no more')])
    assert.ok((await adapter.send({ ...message, attachment: voice(bytes) }, signal)).success)
  const sent = server.bot.calls.filter(({ method }) => method === 'sendVoice')
  assert.deepEqual(
    sent.map(({ fields }) => fields['duration']),
    ['61', undefined],
  )
})

test('limits in several chats at the same time have the scope of the account', () => {
  let at = 0
  const limits = createRateLimitScope(() => at)
  const limited = { success: false as const, problem: 'rate-limited' as const, error: 'x', retryAfterMs: 3_000 }
  const scopes = (...chats: readonly string[]) =>
    chats.map((chat) => {
      const result = limits.classify(chat, limited)
      return result.success ? undefined : result.scope
    })
  assert.deepEqual(scopes('1', '1', '2', '1'), ['chat', 'chat', 'chat', 'chat'])
  assert.deepEqual(scopes('3', '1'), ['account', 'account'])
  at = 3_000
  assert.deepEqual(scopes('4', '5'), ['chat', 'chat'])
  assert.deepEqual(limits.classify('6', { success: true }), { success: true })
})

test('drafts are shown in private chats only, and a chat that refuses one is not asked again', async (t) => {
  const { adapter, server } = await startTelegramTest(t)
  const { nativeDrafts } = adapter
  assert.ok(nativeDrafts !== undefined)
  assert.equal(nativeDrafts.isSupported({ ...target, chatId: '-100123' }), false)
  assert.ok((await nativeDrafts.show(1, { ...message, text: 'a **b**' }, signal)).success)
  assert.deepEqual(server.bot.chats.drafts.get(42), { id: 1, text: 'a b' })
  server.faults.respond('sendMessageDraft', refusal(400, 'Bad Request: TEXTDRAFT_PEER_INVALID'))
  const failure = await failureOf(nativeDrafts.show(1, message, signal))
  assert.equal(failure.problem, 'rejected')
  assert.equal(nativeDrafts.isSupported(target), false)
  assert.equal(nativeDrafts.isSupported({ ...target, chatId: '43' }), true)
})

test('a server without drafts is asked once', async (t) => {
  const { adapter } = await startTelegramTest(t, { server: { hasDrafts: false } })
  assert.equal((await adapter.nativeDrafts?.show(1, message, signal))?.success, false)
  assert.equal(adapter.nativeDrafts?.isSupported({ ...target, chatId: '43' }), false)
})
