import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SendResult } from '../../../../src/message/outbound.ts'
import { targetOf } from '../../../../src/message/source.ts'
import { messageTo, neverAborted, startDiscordTest, until, waitForEvent } from '../support.ts'

const create = 'POST /channels/:id/messages'
const change = 'PATCH /channels/:id/messages/:id'

function failed(result: SendResult): Extract<SendResult, { success: false }> {
  assert.ok(!result.success, 'it has succeeded')
  return result
}

test('a message whose response is lost is sent again without a second post', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.dropResponse(create)
  const message = messageTo(targetFor(dm.id), 'once')
  assert.deepEqual(failed(await adapter.send(message, neverAborted)).maybeSent, true)
  assert.equal((await adapter.send(message, neverAborted)).success, true)
  assert.equal(discord.sent(dm.id).length, 1)
  assert.equal(discord.counts.deduplicated, 1)
})

test('a message whose response is lost is found by the event that Discord sent for it', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.dropResponse(create)
  const message = messageTo(targetFor(dm.id), 'once')
  await adapter.send(message, neverAborted)
  const reads = () => discord.faults.calls('GET /channels/:id/messages')
  await until(() => discord.sent(dm.id).length === 1, discord)
  const found = await adapter.resolveUnknown?.(message, neverAborted)
  assert.deepEqual(found, { sent: true, messageId: discord.sent(dm.id)[0]?.id })
  assert.equal(reads(), 0)
})

test('after a restart a message whose response was lost cannot be distinguished from one with the same text', async (t) => {
  const { discord, adapter, dm, targetFor, createAnother } = await startDiscordTest(t)
  discord.faults.dropResponse(create)
  const message = messageTo(targetFor(dm.id), 'once')
  await adapter.send(message, neverAborted)
  await adapter.disconnect()
  const next = createAnother()
  await next.connect(neverAborted)
  assert.equal(await next.resolveUnknown?.(message, neverAborted), 'unknown')
  // So it is sent once more, and Discord recognizes its nonce.
  assert.equal(
    (await next.send({ ...message, text: `♻️ May be a duplicate:\n\n${message.text}` }, neverAborted)).success,
    true,
  )
  assert.deepEqual(
    discord.sent(dm.id).map(({ content }) => content),
    ['once'],
  )
})

test('after a restart a message that never arrived is recognized as not sent', async (t) => {
  const { discord, adapter, dm, targetFor, createAnother } = await startDiscordTest(t)
  discord.faults.reset(create)
  const message = messageTo(targetFor(dm.id), 'never arrived')
  assert.equal(failed(await adapter.send(message, neverAborted)).maybeSent, true)
  await adapter.disconnect()
  const next = createAnother()
  await next.connect(neverAborted)
  assert.deepEqual(await next.resolveUnknown?.(message, neverAborted), { sent: false })
})

test('in a busy chat a message that never arrived is recognized as not sent while a message of the bot is in reach', async (t) => {
  const { discord, adapter, ada, dm, targetFor } = await startDiscordTest(t)
  await adapter.send(messageTo(targetFor(dm.id), 'an earlier answer'), neverAborted)
  for (let number = 0; number < 98; number += 1) discord.world.post(dm, ada, { content: String(number) })
  const missing = messageTo(targetFor(dm.id), 'never arrived')
  assert.deepEqual(await adapter.resolveUnknown?.(missing, neverAborted), { sent: false })
  for (let number = 0; number < 2; number += 1) discord.world.post(dm, ada, { content: String(number) })
  assert.equal(await adapter.resolveUnknown?.(missing, neverAborted), 'unknown')
})

test('a reply with the text of a much earlier one is not mistaken for it', async (t) => {
  const { adapter, dm, targetFor, createAnother } = await startDiscordTest(t)
  for (const text of ['Done.', 'one', 'two', 'three', 'four', 'five'])
    await adapter.send(messageTo(targetFor(dm.id), text), neverAborted)
  await adapter.disconnect()
  const next = createAnother()
  await next.connect(neverAborted)
  assert.deepEqual(await next.resolveUnknown?.(messageTo(targetFor(dm.id), 'Done.'), neverAborted), { sent: false })
  assert.equal(await next.resolveUnknown?.(messageTo(targetFor(dm.id), 'five'), neverAborted), 'unknown')
})

test('the error of a failed lookup is a sentence for users without internal errors', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.startOutage('refuse')
  await assert.rejects(
    adapter.resolveUnknown?.(messageTo(targetFor(dm.id), 'x'), neverAborted) ?? Promise.resolve(),
    ({ message }: Error) => /Discord could not be reached: ECONNREFUSED/.test(message) && !/fetch failed/.test(message),
  )
})

test('a refused connection means that the message was not sent', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.startOutage('refuse')
  const result = failed(await adapter.send(messageTo(targetFor(dm.id), 'x'), neverAborted))
  assert.deepEqual([result.problem, result.maybeSent], ['temporary', undefined])
})

test('after a server error the message may have been sent', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  for (const status of [500, 502, 504]) {
    discord.faults.respond(create, { status, body: 'upstream' })
    const result = failed(await adapter.send(messageTo(targetFor(dm.id), 'x'), neverAborted))
    assert.deepEqual([result.problem, result.maybeSent], ['temporary', true])
    assert.match(result.error, new RegExp(String(status)))
  }
})

test('rejections by Discord are final, and each known error code has its own explanation', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const cases: readonly (readonly [code: number, status: number, permission?: string])[] = [
    [10003, 404],
    [50001, 403, 'View Channel'],
    [50007, 403],
    [50013, 403, 'Send Messages'],
    [50006, 400],
    [50035, 400],
    [160005, 400],
    [200000, 400, 'AutoMod'],
    [99999, 400],
  ]
  const explanations = new Set<string>()
  for (const [code, status, permission = ''] of cases) {
    discord.faults.respond(create, { status, body: { message: 'Refused', code } })
    const result = failed(await adapter.send(messageTo(targetFor(dm.id), 'x'), neverAborted))
    assert.equal(result.problem, 'rejected', String(code))
    assert.ok(result.error.includes(permission), result.error)
    assert.ok(result.error.includes(`Refused (${code})`), result.error)
    explanations.add(result.error.replace(String(code), ''))
  }
  assert.equal(explanations.size, cases.length)
})

test('a text that is too long is final, and names the field', async (t) => {
  const { adapter, dm, targetFor } = await startDiscordTest(t)
  const result = failed(await adapter.send(messageTo(targetFor(dm.id), 'x'.repeat(2_001)), neverAborted))
  assert.equal(result.problem, 'rejected')
  assert.match(result.error, /content\[BASE_TYPE_MAX_LENGTH\]: Must be 2000 or fewer in length/)
})

test('an empty message and an invalid target are rejected without a call', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  for (const message of [
    messageTo(targetFor(dm.id), ' \n'),
    messageTo(targetFor('C0123'), 'x'),
    messageTo(targetFor(dm.id, 'x'), 'x'),
  ]) {
    assert.equal(failed(await adapter.send(message, neverAborted)).problem, 'rejected')
  }
  assert.equal(discord.faults.calls(create), 0)
})

test('a rate limit applies to the chat or to the account, and the wait is exact', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.limit({ on: create, ms: 340 })
  const chat = failed(await adapter.send(messageTo(targetFor(dm.id), 'x'), neverAborted))
  assert.deepEqual([chat.problem, chat.scope], ['rate-limited', 'chat'])
  assert.ok(chat.retryAfterMs !== undefined && chat.retryAfterMs <= 340, String(chat.retryAfterMs))
  discord.faults.clear()
  discord.faults.limit({ on: change, ms: 340, scope: 'account' })
  const account = failed(
    (await adapter.edit?.('1183000000000000001', messageTo(targetFor(dm.id), 'x'), true, neverAborted)) ?? chat,
  )
  assert.deepEqual([account.problem, account.scope], ['rate-limited', 'account'])
  assert.ok(account.retryAfterMs !== undefined && account.retryAfterMs <= 340, String(account.retryAfterMs))
})

test('a chat without remaining calls is not called', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.buckets.set(create, { limit: 2, perMs: 400 })
  for (const text of ['one', 'two'])
    assert.equal((await adapter.send(messageTo(targetFor(dm.id), text), neverAborted)).success, true)
  const result = failed(await adapter.send(messageTo(targetFor(dm.id), 'three'), neverAborted))
  assert.deepEqual([result.problem, result.scope], ['rate-limited', 'chat'])
  assert.ok(result.retryAfterMs !== undefined && result.retryAfterMs > 0 && result.retryAfterMs <= 400)
  assert.equal(discord.buckets.refused(), 0)
  assert.equal(discord.faults.calls(create), 2)
})

test('a rate limit without a JSON body counts as a rate limit', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.respond(create, { status: 429, headers: { 'retry-after': '3' }, body: 'error code: 1015' })
  const result = failed(await adapter.send(messageTo(targetFor(dm.id), 'x'), neverAborted))
  assert.deepEqual([result.problem, result.retryAfterMs], ['rate-limited', 3_000])
})

test('a file is uploaded with its name, type and text', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const bytes = Buffer.from('Buy milk. ü\n')
  const source = { kind: 'file' as const, bytes: bytes.length, open: async () => new Blob([bytes]) }
  const attachment = { kind: 'document' as const, fileName: 'nötes "1".txt', mimeType: 'text/plain', source }
  assert.equal((await adapter.send(messageTo(targetFor(dm.id), 'Notes', { attachment }), neverAborted)).success, true)
  const [sent] = discord.sent(dm.id)
  assert.equal(sent?.content, 'Notes')
  const { filename, content_type: type, url } = sent?.attachments[0] ?? {}
  assert.deepEqual([filename, type], ['nötes "1".txt', 'text/plain'])
  assert.deepEqual(discord.fileOf(String(url)), bytes)
})

test('a file that is too large is final, and says how large it is', async (t) => {
  const { adapter, dm, targetFor } = await startDiscordTest(t)
  const source = { kind: 'file' as const, bytes: 11e6, open: async () => new Blob([new Uint8Array(11e6)]) }
  const attachment = { kind: 'document' as const, fileName: 'big.bin', mimeType: 'application/octet-stream', source }
  const result = failed(await adapter.send(messageTo(targetFor(dm.id), '', { attachment }), neverAborted))
  assert.equal(result.problem, 'rejected')
  assert.match(result.error, /big\.bin has 11\.0 MB.*10 MB/)
})

test('a recording in Opus is a voice message, with its length; any other is a file', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  await adapter.send(messageTo(targetFor(dm.id), '', { attachment: recording(opus(2.5)) }), neverAborted)
  await adapter.send(messageTo(targetFor(dm.id), '', { attachment: recording(new Uint8Array(100)) }), neverAborted)
  const [voice, file] = discord.sent(dm.id)
  assert.deepEqual([voice?.flags, voice?.attachments[0]?.['duration_secs']], [8192, 2.5])
  assert.equal(file?.flags, 0)
})

test('where voice messages are not allowed, a recording is sent as a file', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const message = 'You cannot send voice messages in this channel'
  discord.faults.respond(create, { status: 403, body: { message, code: 50173 } })
  const result = await adapter.send(messageTo(targetFor(dm.id), '', { attachment: recording(opus(2.5)) }), neverAborted)
  assert.equal(result.success, true)
  assert.deepEqual([discord.sent()[0]?.flags, discord.sent()[0]?.attachments[0]?.['filename']], [0, 'answer.ogg'])
})

function recording(bytes: Uint8Array<ArrayBuffer>) {
  const source = { kind: 'file' as const, bytes: bytes.length, open: async () => new Blob([bytes]) }
  return { kind: 'voice' as const, fileName: 'answer.ogg', mimeType: 'audio/ogg', source }
}

/** The first and the last page of an Ogg file, with nothing between. */
function opus(seconds: number): Uint8Array<ArrayBuffer> {
  const page = (samples: bigint, content: string) => {
    const head = Buffer.alloc(28)
    head.write('OggS', 0, 'latin1')
    head.writeBigUInt64LE(samples, 6)
    return Buffer.concat([head, Buffer.from(content)])
  }
  return new Uint8Array([...page(0n, 'OpusHead'), ...page(BigInt(seconds * 48_000), 'sound')])
}

test('typing is shown in the chat, and in the channel until the thread is open', async (t) => {
  const { discord, gateway, adapter, ada, mention, targetFor } = await startDiscordTest(t)
  discord.say(ada, discord.general, `${mention} hello`)
  const target = targetOf((await waitForEvent(gateway, 'hello')).event.source)
  await adapter.typing?.(target, neverAborted)
  await adapter.send(messageTo(target, 'Hello.'), neverAborted)
  await adapter.typing?.(target, neverAborted)
  await adapter.typing?.(targetFor(discord.general.id), neverAborted)
  assert.deepEqual(discord.typing, [discord.general.id, target.threadId, discord.general.id])
})

test('a message of the bot is deleted', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const sent = await adapter.send(messageTo(targetFor(dm.id), 'draft'), neverAborted)
  assert.ok(sent.success && sent.messageId !== undefined)
  assert.equal((await adapter.remove?.(targetFor(dm.id), sent.messageId, neverAborted))?.success, true)
  assert.deepEqual(discord.sent(dm.id), [])
})

test('an expired URL of a file is refreshed, and a configured API may be in a private network', async (t) => {
  const { discord, adapter } = await startDiscordTest(t)
  const old = 'https://cdn.discordapp.com/attachments/1/2/a.png?ex=5f000000&is=1&hm=2'
  const renewed = await adapter.locate?.({ kind: 'photo', ref: old }, neverAborted)
  const { origin, pathname, searchParams } = new URL(renewed?.url ?? '')
  assert.equal(`${origin}${pathname}`, 'https://cdn.discordapp.com/attachments/1/2/a.png')
  assert.ok(Number.parseInt(searchParams.get('ex') ?? '', 16) * 1_000 > Date.now())
  assert.equal(renewed?.trusted, new URL(discord.apiUrl).origin)
  const fresh = 'https://cdn.discordapp.com/attachments/1/2/a.png?ex=7fffffff&is=1&hm=2'
  assert.equal((await adapter.locate?.({ kind: 'photo', ref: fresh }, neverAborted))?.url, fresh)
  assert.equal(discord.faults.calls('POST /attachments/refresh-urls'), 1)
})

test('a draft whose response was lost is found by its nonce, although its text has grown and no event arrived', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const draft = messageTo(targetFor(dm.id), 'The answer ▉', { kind: 'draft' })
  discord.gateway.freeze()
  discord.faults.dropResponse('POST /channels/:id/messages')
  const lost = await adapter.send(draft, neverAborted)
  assert.ok(!lost.success && lost.maybeSent === true)
  const found = await adapter.resolveUnknown?.({ ...draft, text: 'The answer is ▉' }, neverAborted)
  assert.deepEqual(found, { sent: true, messageId: discord.sent(dm.id)[0]?.id })
  assert.equal(discord.sent(dm.id).length, 1)
})

test('a draft that never arrived is created by the search for it', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  discord.faults.reset('POST /channels/:id/messages')
  const draft = messageTo(targetFor(dm.id), 'The answer ▉', { kind: 'draft' })
  await adapter.send(draft, neverAborted)
  const found = await adapter.resolveUnknown?.(draft, neverAborted)
  assert.deepEqual(found, { sent: true, messageId: discord.sent(dm.id)[0]?.id })
})

test('a draft is found by its question when Discord has forgotten its nonce', async (t) => {
  const { discord, adapter, ada, dm, targetFor } = await startDiscordTest(t, { server: { nonceMs: 0 } })
  const question = discord.world.post(dm, ada, { content: 'Why?' })
  const draft = messageTo(targetFor(dm.id), 'The answer ▉', { kind: 'draft', replyTo: question.id })
  discord.gateway.freeze()
  discord.faults.dropResponse('POST /channels/:id/messages')
  await adapter.send(draft, neverAborted)
  const found = await adapter.resolveUnknown?.({ ...draft, text: 'Because ▉' }, neverAborted)
  assert.deepEqual(found, { sent: true, messageId: discord.sent(dm.id)[0]?.id })
  assert.equal(discord.sent(dm.id).length, 1)
})

test('the search for a draft that is to be removed creates none', async (t) => {
  const { discord, adapter, dm, targetFor } = await startDiscordTest(t)
  const draft = messageTo(targetFor(dm.id), '', { kind: 'draft' })
  assert.equal(await adapter.resolveUnknown?.(draft, neverAborted), 'unknown')
  assert.equal(discord.sent(dm.id).length, 0)
})
