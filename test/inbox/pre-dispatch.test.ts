/**
 * Plugins receive a message before the access check, and their decision still applies when it is delivered again.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { chatHistory } from '../../src/flows/chat/chat-history.ts'
import { listCursors } from '../../src/inbox/cursors.ts'
import type { PreDispatchHooks } from '../../src/inbox/deps.ts'
import { parseStoredEvent } from '../../src/inbox/stored-event.ts'
import { brand } from '../../src/lib/ids.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import { inboxFor, keys, message } from './support.ts'

type Decide = (event: MessageEvent) => Awaited<ReturnType<PreDispatchHooks['preDispatch']>>

/** An inbox whose plugins make this decision; `asked` contains the texts that they received. */
function inboxWithHooks(t: TestContext, decide: Decide, overrides: Parameters<typeof inboxFor>[1] = {}) {
  const asked: string[] = []
  const changed: string[] = []
  const preDispatchHooks: PreDispatchHooks = {
    hasPreDispatchHooks: () => true,
    async preDispatch(event) {
      asked.push(event.text)
      return decide(event)
    },
    messageChanged: ({ kind }, key) => void changed.push(`${kind} ${key}`),
  }
  return { ...inboxFor(t, { preDispatchHooks, ...overrides }), asked, changed }
}

const pass: Decide = (event) => ({ kind: 'pass', event })
const skip: Decide = () => ({ kind: 'skip', reason: 'not for us' })
const shout: Decide = (event) => ({ kind: 'pass', event: { ...event, text: event.text.toUpperCase() } })

test('a message that plugins allow is accepted unchanged', async (t) => {
  const { inbox, stored, asked } = inboxWithHooks(t, pass)
  assert.equal((await inbox.accept(message('hello'), keys('a'))).status, 'accepted')
  assert.deepEqual(asked, ['hello'])
  assert.equal(stored().length, 1)
})

test('a message that a plugin skips gets no question, no reply and no event, and does not wake the engine', async (t) => {
  const { inbox, stored, woken, received } = inboxWithHooks(t, skip, {
    access: () => assert.fail('access was decided for a skipped message'),
  })
  assert.deepEqual(await inbox.accept(message('spam'), keys('a')), { status: 'refused', reason: 'not for us' })
  assert.deepEqual([stored(), woken, received], [[], [], []])
})

test('a skipped message stays skipped when it is delivered again, also with another key and another decision', async (t) => {
  let decide = skip
  const { inbox, stored, asked, received } = inboxWithHooks(t, (event) => decide(event))
  await inbox.accept(message('spam'), keys('a', 'b'))
  decide = pass
  assert.equal((await inbox.accept(message('spam'), keys('b', 'c'))).status, 'duplicate')
  assert.equal((await inbox.accept(message('spam'), keys('c'))).status, 'duplicate')
  assert.deepEqual(asked, ['spam'])
  assert.deepEqual([stored(), received], [[], []])
})

test('nothing of the text of a skipped message is stored, and no history shows it', async (t) => {
  const { inbox, store } = inboxWithHooks(t, skip)
  await inbox.accept(message('my password is 1234', { metadata: { more: '1234' } }), keys('a'))
  const chat = { platform: 'chat', account: 'bot', chatId: 'c' }
  assert.deepEqual(await store.run(() => chatHistory(chat, { limit: 10 }, '/media')), [])
})

test('a rewritten message is accepted with its new text, in the lane of the new text, and stays rewritten', async (t) => {
  let decide: Decide = (event) => ({ kind: 'pass', event: { ...event, text: '/new' } })
  const { inbox, stored, woken, asked, store } = inboxWithHooks(t, (event) => decide(event))
  await inbox.accept(message('start over'), keys('a'))
  assert.deepEqual(woken, ['key:c control 1'])
  decide = skip
  assert.equal((await inbox.accept(message('start over'), keys('a'))).status, 'duplicate')
  assert.deepEqual(asked, ['start over'])
  assert.equal(stored().length, 1)
  const history = await store.run(() =>
    chatHistory({ platform: 'chat', account: 'bot', chatId: 'c' }, { limit: 10 }, '/media'),
  )
  assert.deepEqual(
    history.map(({ text }) => text),
    ['/new'],
  )
})

test('a plugin that allows a message does not give its author access', async (t) => {
  const { inbox, stored, asked } = inboxWithHooks(t, shout, {
    access: () => ({ allowed: false, reason: 'a stranger' }),
  })
  assert.deepEqual(await inbox.accept(message('hello'), keys('a')), { status: 'refused', reason: 'a stranger' })
  assert.deepEqual(asked, ['hello'])
  assert.deepEqual(stored(), [])
})

test('a plugin sees /stop, but neither delays it nor decides about it, and access is checked', async (t) => {
  let allowed = true
  const asked: string[] = []
  const { inbox, stored } = inboxFor(t, {
    access: () => ({ allowed, reason: 'a stranger' }),
    preDispatchHooks: {
      hasPreDispatchHooks: () => true,
      preDispatch({ text }) {
        asked.push(text)
        return Promise.withResolvers<never>().promise
      },
      messageChanged: () => undefined,
    },
  })
  assert.equal((await inbox.accept(message('/stop'), keys('a'))).status, 'accepted')
  assert.equal((await inbox.accept(message('/stop'), keys('a'))).status, 'duplicate')
  allowed = false
  assert.deepEqual(await inbox.accept(message('/stop'), keys('b')), { status: 'refused', reason: 'a stranger' })
  assert.deepEqual(asked, ['/stop', '/stop'])
  assert.equal(stored().length, 1)
})

test('events of the gateway itself are not passed to plugins', async (t) => {
  const { inbox, asked } = inboxWithHooks(t, skip)
  assert.equal((await inbox.accept(message('done', { internal: true }), keys('a'))).status, 'accepted')
  assert.deepEqual(asked, [])
})

test('without a plugin no message is looked up twice', async (t) => {
  const preDispatchHooks: PreDispatchHooks = {
    hasPreDispatchHooks: () => false,
    preDispatch: () => assert.fail('asked'),
    messageChanged: () => undefined,
  }
  const { inbox, stored } = inboxFor(t, { preDispatchHooks })
  await inbox.accept(message('hello'), keys('a'))
  assert.equal(stored().length, 1)
})

test('two concurrent deliveries of a message are one message, whatever plugins decide for each', async (t) => {
  let calls = 0
  const { inbox, stored } = inboxWithHooks(t, (event) => {
    calls += 1
    return calls === 1 ? skip(event) : pass(event)
  })
  const answers = await Promise.all([
    inbox.accept(message('hello'), keys('a')),
    inbox.accept(message('hello'), keys('a')),
  ])
  const taken = answers.filter(({ status }) => status === 'accepted').length
  assert.equal(stored().length, taken)
})

test('the cursor of a chat advances with a skipped message, but a refused user creates no cursor', async (t) => {
  const { inbox, store } = inboxWithHooks(t, skip)
  await inbox.accept(message('spam'), keys('a'), { place: 'c', id: '5' })
  assert.equal((await store.run(() => listCursors({ platform: 'chat', account: 'bot' }))).size, 0)
})

test('an edit is passed to the same plugins: a rejected text cannot arrive as an edit', async (t) => {
  const { inbox, stored, changed } = inboxWithHooks(t, (event) =>
    event.text.includes('spam') ? skip(event) : shout(event),
  )
  await inbox.accept(message('hello'), keys('a'))
  const edit = (text: string, key: string) =>
    inbox.change({ kind: 'edited', of: brand('a'), event: message(text) }, keys(key))
  assert.deepEqual(await edit('spam', 'a:2'), { status: 'refused', reason: 'not for us' })
  assert.equal((await edit('hello again', 'a:3')).status, 'accepted')
  assert.equal((await edit('hello again', 'a:3')).status, 'duplicate')
  assert.equal(stored().length, 1)
  assert.deepEqual(changed, ['edited key:c'])
  const [row] = stored()
  assert.equal(row === undefined ? '' : parseStoredEvent(row.payload).text, 'HELLO AGAIN')
})

test('plugins receive a reaction or a deletion once, and none of a refused user', async (t) => {
  let allowed = true
  const { inbox, changed } = inboxWithHooks(t, pass, { access: () => ({ allowed, reason: '' }) })
  const { source } = message('')
  await inbox.accept(message('hello'), keys('a'))
  const reaction = {
    kind: 'reaction',
    source,
    added: true,
    reaction: '👍',
    messageId: '1',
    timestamp: 1,
    raw: {},
  } as const
  await inbox.change(reaction, keys('r'))
  await inbox.change(reaction, keys('r'))
  await inbox.change({ kind: 'deleted', of: brand('a'), source, timestamp: 2 }, keys('d'))
  await inbox.change({ kind: 'deleted', of: brand('never'), source, timestamp: 2 }, keys('d2'))
  allowed = false
  await inbox.change(reaction, keys('r2'))
  assert.deepEqual(changed, ['reaction key:c', 'deleted key:c'])
})
