import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { isSilence, mayBecomeSilence } from '../../src/message/silence.ts'
import { outboxConfig } from '../../src/outbox/config.ts'
import { streamingMethod } from '../../src/outbox/drafts.ts'
import { flushEventLoop, openOutbox, rejected } from './support.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const turnId = 'turn-1'

/** What a chat shows of a text that arrives character by character. */
async function shownWhileWritten(t: Parameters<typeof openOutbox>[0], text: string): Promise<string[]> {
  const bench = openOutbox(t, { draftIntervalMs: 0 })
  const draft = bench.outbox.openDraft({ target, turnId })
  assert.ok(draft !== null)
  for (let end = 1; end <= text.length; end += 1) {
    draft.update(text.slice(0, end))
    await flushEventLoop()
  }
  await draft.close()
  await bench.outbox.stop(0)
  return bench.sender.texts()
}

const silentReplies = ['[SILENT]', ' [ Silent ]\n', 'silent', 'NO_REPLY', 'No  reply ', '[静默]', '沉默']

test('a silent reply never shows a character', async (t) => {
  for (const reply of silentReplies) {
    assert.ok(isSilence(reply))
    assert.deepEqual(await shownWhileWritten(t, reply), [], JSON.stringify(reply))
  }
  assert.deepEqual(await shownWhileWritten(t, 'MEDIA:/tmp/a.png'), [])
})

test('the first characters appear as soon as the text can no longer become silent or the address of a file', async (t) => {
  for (const [text, first] of [
    ['Yes', 'Y'],
    ['Sure', 'Su'],
    ['[SIMPLE', '[SIM'],
    ['No. That', 'No.'],
    ['Me too', 'Me'],
  ] as const) {
    assert.equal((await shownWhileWritten(t, text))[0], `${first} ▉`, text)
  }
})

test('every beginning of a silent reply may become one, and no continuation of another beginning does', () => {
  const alphabet = ['[', ']', ' ', '\n', '_', 's', 'I', 'lent', 'no', 'REPLY', '静', '默', '沉', 'x', '.']
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 0x8000_0000
    return Math.floor((seed / 0x8000_0000) * below)
  }
  for (let round = 0; round < 2_000; round += 1) {
    const pieces = Array.from({ length: 1 + random(6) }, () => alphabet[random(alphabet.length)] ?? '')
    const text = round % 4 === 0 ? (silentReplies[random(silentReplies.length)] ?? '') : pieces.join('')
    let wasPossible = true
    for (let end = 0; end <= text.length; end += 1) {
      const isPossible = mayBecomeSilence(text.slice(0, end))
      assert.ok(wasPossible || !isPossible, JSON.stringify(text))
      wasPossible = isPossible
    }
    if (isSilence(text)) assert.ok(wasPossible, JSON.stringify(text))
  }
})

test('mode implies that replies are streamed, and transport alone does not', () => {
  const methodOf = (streaming: object) => streamingMethod(z.object(outboxConfig).parse({ streaming }))
  assert.equal(methodOf({}), 'auto')
  assert.equal(methodOf({ enabled: false, transport: 'edit' }), 'off')
  assert.equal(methodOf({ enabled: false, mode: 'edit' }), 'edit')
  assert.equal(methodOf({ transport: 'draft', mode: 'off' }), 'off')
  assert.equal(methodOf({ transport: 'off' }), 'off')
})

test('a configured interval above that of the platform applies', async (t) => {
  const bench = openOutbox(t, { draftIntervalMs: 1_000, settings: { streaming: { edit_interval: 3 } } })
  const draft = bench.outbox.openDraft({ target, turnId })
  draft?.update('Hello')
  await flushEventLoop()
  draft?.update('Hello there')
  await flushEventLoop()
  assert.deepEqual(bench.time.pendingSleeps(), [3_000])
})

test('a native draft shows the text without a message, and the reply is sent', async (t) => {
  const bench = openOutbox(t, { nativeDrafts: true })
  const draft = bench.outbox.openDraft({ target, turnId })
  draft?.update('Hel')
  await flushEventLoop()
  draft?.update('Hello')
  await flushEventLoop()
  assert.deepEqual(bench.time.pendingSleeps(), [300])
  bench.time.advance(300)
  await flushEventLoop()
  assert.equal(await draft?.close(), null)
  await bench.say('Hello there', { turnId })
  await bench.outbox.whenIdle()
  assert.deepEqual(
    bench.sender.calls.map(({ op, text, messageId }) => [op, text, messageId]),
    [
      ['native-draft', 'Hel', '1'],
      ['native-draft', 'Hello', '1'],
      ['send', 'Hello there', ''],
    ],
  )
})

test('after the first refusal of a native draft the reply is streamed by edits', async (t) => {
  const bench = openOutbox(t, { nativeDrafts: true })
  bench.sender.script.push(rejected)
  const draft = bench.outbox.openDraft({ target, turnId })
  draft?.update('Hello')
  await flushEventLoop()
  bench.time.advance(300)
  await flushEventLoop()
  assert.deepEqual(
    bench.sender.calls.map(({ op, text }) => [op, text]),
    [
      ['native-draft', 'Hello'],
      ['send', 'Hello ▉'],
    ],
  )
  assert.equal((await draft?.close())?.platformId, 'm1')
})

test('with the transport edit no native draft is shown', async (t) => {
  const bench = openOutbox(t, { nativeDrafts: true, settings: { streaming: { transport: 'edit' } } })
  bench.outbox.openDraft({ target, turnId })?.update('Hello')
  await flushEventLoop()
  assert.deepEqual(bench.sender.texts(), ['Hello ▉'])
})

test('a reply that was streamed for longer than the limit is sent as a new message, and its draft is removed', async (t) => {
  for (const [seconds, expected] of [
    [59, ['send', 'edit']],
    [60, ['send', 'send', 'remove']],
  ] as const) {
    const bench = openOutbox(t, { remove: true, settings: { streaming: { fresh_final_after_seconds: 60 } } })
    const draft = bench.outbox.openDraft({ target, turnId })
    draft?.update('Hello')
    await flushEventLoop()
    bench.time.advance(seconds * 1_000)
    const address = await draft?.close()
    assert.ok(address)
    await bench.say('Hello there', { turnId, draft: address })
    await bench.outbox.whenIdle()
    await flushEventLoop()
    assert.deepEqual([...bench.sender.shown.values()], ['Hello there'])
    assert.deepEqual(
      bench.sender.calls.map(({ op }) => op),
      expected,
    )
  }
})
