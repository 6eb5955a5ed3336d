import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flushEventLoop, openOutbox } from './support.ts'

const target = { platform: 'fake', account: 'default', chatId: 'chat' }
const sentence = 'A sentence that is long enough to be shown.'
const limits = { maxChars: 60, unit: 'utf16' as const }

for (const [replyTo, expected] of [
  ['off', ['', '', '']],
  ['first', ['question', '', '']],
  ['all', ['question', 'question', 'question']],
] as const) {
  test(`with "${replyTo}" these parts of a reply refer to the message`, async (t) => {
    const { outbox, sender, say } = openOutbox(t, { replyPolicy: { replyTo, typing: true }, limits })
    await say('word '.repeat(30).trim(), { replyTo: 'question' })
    await outbox.whenIdle()
    assert.deepEqual(
      sender.calls.map((call) => call.replyTo),
      expected,
    )
  })
}

test('a reply that consists of a file only refers to its message', async (t) => {
  const { outbox, sender, say } = openOutbox(t, { attachments: true })
  await say('![](https://example.org/a.png)', { replyTo: 'question' })
  await outbox.whenIdle()
  assert.deepEqual([sender.calls.length, sender.calls[0]?.replyTo], [1, 'question'])
})

test('a growing reply refers to its message unless the account disables references', async (t) => {
  for (const [replyTo, expected] of [
    ['off', ''],
    ['first', 'question'],
  ] as const) {
    const { outbox, sender } = openOutbox(t, { replyPolicy: { replyTo, typing: true } })
    outbox.openDraft({ target, turnId: 'turn', replyTo: 'question' })?.update(sentence)
    await flushEventLoop()
    assert.deepEqual(
      sender.calls.map((call) => call.replyTo),
      [expected],
    )
  }
})

test('an account with typing disabled shows no typing indicator', async (t) => {
  const { outbox, sender, time } = openOutbox(t, { typing: true, replyPolicy: { replyTo: 'first', typing: false } })
  outbox.showTyping(target, new AbortController().signal)
  await flushEventLoop()
  assert.deepEqual([sender.calls.length, time.pendingSleeps().length], [0, 0])
})

const buttons = [
  { id: 'q:1:yes', label: 'Yes', style: 'primary' as const },
  { id: 'q:1:no', label: 'No' },
]

test('buttons are attached to the last message of the text', async (t) => {
  const { outbox, sender, say } = openOutbox(t, { buttons: true, attachments: true, limits })
  await say(`${'word '.repeat(30).trim()}\n\n![](https://example.org/a.png)`, { buttons })
  await outbox.whenIdle()
  assert.deepEqual(
    sender.calls.map((call) => call.buttons),
    [undefined, undefined, buttons, undefined],
  )
})

test('a platform without buttons gets only the text', async (t) => {
  const { outbox, sender, say } = openOutbox(t)
  await say('Shall I?', { buttons })
  await outbox.whenIdle()
  assert.deepEqual([sender.texts(), sender.calls[0]?.buttons], [['Shall I?'], undefined])
})

test('a draft that already shows the final text still gets its buttons', async (t) => {
  const { outbox, sender, say } = openOutbox(t, { buttons: true })
  await say('Shall I?', { buttons, draft: { platformId: 'm9', shownText: 'Shall I?' } })
  await outbox.whenIdle()
  assert.deepEqual(
    sender.calls.map(({ op, buttons: shown }) => [op, shown]),
    [['edit', buttons]],
  )
})
