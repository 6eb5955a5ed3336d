/**
 * Plugins see a message before access is decided, and what they decide holds when it is fetched once more.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { chatHistory } from '../../src/flows/chat-history.ts'
import { listCursors } from '../../src/inbox/cursors.ts'
import type { PreDispatchHooks } from '../../src/inbox/deps.ts'
import { parseStoredEvent } from '../../src/inbox/stored-event.ts'
import { brand } from '../../src/lib/ids.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import { inboxFor, keys, message } from './support.ts'

type Decide = (event: MessageEvent) => Awaited<ReturnType<PreDispatchHooks['preDispatch']>>

/** An inbox whose plugins decide so; `asked` are the texts they saw. */
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

test('a message that plugins let through is taken in as it came', async (t) => {
  const { inbox, stored, asked } = inboxWithHooks(t, pass)
  assert.equal((await inbox.accept(message('hello'), keys('a'))).status, 'accepted')
  assert.deepEqual(asked, ['hello'])
  assert.equal(stored().length, 1)
})

test('a message that a plugin skips is not asked about, answered or told of; it wakes nobody', async (t) => {
  const { inbox, stored, woken, told } = inboxWithHooks(t, skip, {
    checkAccess: () => assert.fail('access was decided for a skipped message'),
  })
  assert.deepEqual(await inbox.accept(message('spam'), keys('a')), { status: 'refused', reason: 'not for us' })
  assert.deepEqual([stored(), woken, told], [[], [], []])
})

test('a skipped message that is fetched once more stays skipped, also under another of its names and for another mind', async (t) => {
  let decide = skip
  const { inbox, stored, asked, told } = inboxWithHooks(t, (event) => decide(event))
  await inbox.accept(message('spam'), keys('a', 'b'))
  decide = pass
  assert.equal((await inbox.accept(message('spam'), keys('b', 'c'))).status, 'duplicate')
  assert.equal((await inbox.accept(message('spam'), keys('c'))).status, 'duplicate')
  assert.deepEqual(asked, ['spam'])
  assert.deepEqual([stored(), told], [[], []])
})

test('nothing a person wrote is kept of a skipped message, and no history shows it', async (t) => {
  const { inbox, store } = inboxWithHooks(t, skip)
  await inbox.accept(message('my password is 1234', { metadata: { more: '1234' } }), keys('a'))
  const chat = { platform: 'chat', account: 'bot', chatId: 'c' }
  assert.deepEqual(await store.run(() => chatHistory(chat, { limit: 10 })), [])
})

test('a rewritten message is taken in rewritten, in the lane of its new words, and so it stays', async (t) => {
  let decide: Decide = (event) => ({ kind: 'pass', event: { ...event, text: '/new' } })
  const { inbox, stored, woken, asked, store } = inboxWithHooks(t, (event) => decide(event))
  await inbox.accept(message('start over'), keys('a'))
  assert.deepEqual(woken, ['key:c control 1'])
  decide = skip
  assert.equal((await inbox.accept(message('start over'), keys('a'))).status, 'duplicate')
  assert.deepEqual(asked, ['start over'])
  assert.equal(stored().length, 1)
  const history = await store.run(() => chatHistory({ platform: 'chat', account: 'bot', chatId: 'c' }, { limit: 10 }))
  assert.deepEqual(
    history.map(({ text }) => text),
    ['/new'],
  )
})

test('a plugin that lets a message through does not let its writer in', async (t) => {
  const { inbox, stored, asked } = inboxWithHooks(t, shout, {
    checkAccess: () => ({ allowed: false, reason: 'a stranger' }),
  })
  assert.deepEqual(await inbox.accept(message('hello'), keys('a')), { status: 'refused', reason: 'a stranger' })
  assert.deepEqual(asked, ['hello'])
  assert.deepEqual(stored(), [])
})

test('what the gateway hands in itself is no business of plugins', async (t) => {
  const { inbox, asked } = inboxWithHooks(t, skip)
  assert.equal((await inbox.accept(message('done', { internal: true }), keys('a'))).status, 'accepted')
  assert.deepEqual(asked, [])
})

test('where no plugin wants to see messages, none is looked up twice', async (t) => {
  const preDispatchHooks: PreDispatchHooks = {
    hasPreDispatchHooks: () => false,
    preDispatch: () => assert.fail('asked'),
    messageChanged: () => undefined,
  }
  const { inbox, stored } = inboxFor(t, { preDispatchHooks })
  await inbox.accept(message('hello'), keys('a'))
  assert.equal(stored().length, 1)
})

test('the same message twice at once is one message, whatever plugins say to each', async (t) => {
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

test('the place of a skipped message is not read again, but a stranger begins none', async (t) => {
  const { inbox, store } = inboxWithHooks(t, skip)
  await inbox.accept(message('spam'), keys('a'), { place: 'c', id: '5' })
  assert.equal((await store.run(() => listCursors({ platform: 'chat', account: 'bot' }))).size, 0)
})

test('an edit passes the same plugins: words that are kept out do not come in by an edit', async (t) => {
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

test('plugins hear of a reaction or a deletion once, and of none by a stranger', async (t) => {
  let allowed = true
  const { inbox, changed } = inboxWithHooks(t, pass, { checkAccess: () => ({ allowed, reason: '' }) })
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
