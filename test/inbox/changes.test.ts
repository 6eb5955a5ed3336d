import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { listChatEvents } from '../../src/inbox/chat-history.ts'
import { createEventResults } from '../../src/inbox/inbox.ts'
import { claimEvent, findQueueHead, finishEvent } from '../../src/inbox/queries.ts'
import { parseStoredEvent } from '../../src/inbox/stored-event.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import type { Role } from '../../src/message/authority.ts'
import type { MessageChange, ReactionChange } from '../../src/message/change.ts'
import type { MessageEvent } from '../../src/message/event.ts'
import type { Store } from '../../src/store/store.ts'
import { type InboxChanges, inboxFor, keys, message } from './support.ts'

const [original] = keys('k1')
const done = {
  status: 'done',
  text: 'yes',
  sessionId: 's',
  model: 'm',
  usage: { inputTokens: 1, outputTokens: 1 },
} as const

function edit(text: string, more: Partial<MessageEvent> = {}): MessageChange {
  return { kind: 'edited', of: original, event: message(text, more) }
}

function deletion(more: Partial<MessageEvent['source']> = {}): MessageChange {
  return { kind: 'deleted', of: original, source: { ...message('').source, ...more }, timestamp: 2 }
}

async function claim(store: Store, turnId: string | null = 'turn 1') {
  await store.run(function* () {
    const head = yield* findQueueHead('key:c', 'turn')
    assert.ok(head)
    yield* claimEvent(head.seq, turnId)
  })
}

/** An inbox with one message, and its observable effects. */
async function withMessage(t: TestContext, overrides: InboxChanges = {}, first: MessageEvent = message('one')) {
  const made = inboxFor(t, overrides)
  await made.inbox.accept(first, keys('k1'))
  const rows = (sql: string) => {
    const db = new DatabaseSync(made.path, { readOnly: true })
    try {
      return db.prepare(sql).all()
    } finally {
      db.close()
    }
  }
  const waiting = () =>
    made.stored().map(({ seq, state, payload }) => `${seq} ${state} ${parseStoredEvent(payload).text}`)
  const notes = () => rows('select event, detail, turn_id from trace order by id').map((row) => ({ ...row }))
  return { ...made, rows, waiting, notes }
}

test('a queued message is changed by an edit', async (t) => {
  const { inbox, waiting, notes, woken } = await withMessage(t)
  const changed = await inbox.change(edit('two'), keys('k1:e:1'))
  assert.deepEqual(changed, { status: 'accepted', seq: 1 })
  assert.deepEqual(waiting(), ['1 queued two'])
  assert.deepEqual(notes(), [])
  assert.equal(woken.length, 1)
})

test('a repeated edit is recognised', async (t) => {
  const { inbox, waiting } = await withMessage(t)
  await inbox.change(edit('two'), keys('k1:e:1'))
  await inbox.change(edit('three'), keys('k1:e:2'))
  assert.deepEqual(await inbox.change(edit('two'), keys('k1:e:1')), { status: 'duplicate', seq: 1 })
  assert.deepEqual(waiting(), ['1 queued three'])
})

test('an edit replaces attachments; one that was downloaded already is kept', async (t) => {
  const fetched = { kind: 'photo', ref: 'f1', path: '/media/1-1.jpg' } as const
  const { inbox, stored } = await withMessage(t, {}, message('one', { attachments: [fetched] }))
  const attachments = [{ kind: 'photo', ref: 'f1' } as const, { kind: 'document', ref: 'f2' } as const]
  await inbox.change(edit('two', { attachments }), keys('k1:e:1'))
  assert.deepEqual(parseStoredEvent(stored()[0]?.payload ?? '').attachments, [fetched, { kind: 'document', ref: 'f2' }])
  await inbox.change(edit('three'), keys('k1:e:2'))
  assert.equal(parseStoredEvent(stored()[0]?.payload ?? '').attachments, undefined)
})

test('an edit keeps the fields that it does not contain: the source and the quoted message', async (t) => {
  const replyTo = { messageId: '7', text: 'earlier' }
  const { inbox, stored } = await withMessage(t, {}, message('one', { replyTo, messageId: '9' }))
  await inbox.change(edit('two', { source: { ...message('').source, userName: 'Renamed' } }), keys('k1:e:1'))
  const event = parseStoredEvent(stored()[0]?.payload ?? '')
  assert.deepEqual([event.replyTo, event.messageId, event.source.userName], [replyTo, '9', undefined])
})

test('a claimed or answered message does not change; the edit is added to the trace', async (t) => {
  const { inbox, waiting, notes, store, rows } = await withMessage(t)
  await claim(store)
  assert.deepEqual(await inbox.change(edit('two'), keys('k1:e:1')), { status: 'accepted', seq: 1 })
  assert.deepEqual(waiting(), ['1 claimed one'])
  await store.run(() => finishEvent(1, done))
  await inbox.change(edit('three'), keys('k1:e:2'))
  assert.deepEqual(
    rows('select payload from inbox').map(({ payload }) => parseStoredEvent(String(payload)).text),
    ['one'],
  )
  assert.deepEqual(
    notes().map(({ event, turn_id, detail }) => [event, turn_id, String(detail).split(': ').at(-1)]),
    [
      ['message:edited', 'turn 1', 'two'],
      ['message:edited', 'turn 1', 'three'],
    ],
  )
})

test('an edit at the start of a turn is atomic: the turn reads one version, and the other is traced', async (t) => {
  const { inbox, store, notes, waiting } = await withMessage(t)
  const read: string[] = []
  const begin = () =>
    store.run(function* () {
      const head = yield* findQueueHead('key:c', 'turn')
      assert.ok(head)
      yield* claimEvent(head.seq, 'turn 1')
      read.push(parseStoredEvent(head.payload).text)
    })
  await Promise.all([inbox.change(edit('two'), keys('k1:e:1')), begin(), inbox.change(edit('three'), keys('k1:e:2'))])
  const noted = new Map([
    ['one', 2],
    ['two', 1],
    ['three', 0],
  ])
  assert.equal(notes().length, noted.get(read[0] ?? ''))
  assert.deepEqual(waiting(), [`1 claimed ${read[0]}`])
})

test('with `rerun` an edited message is answered again after the queued messages, in the same conversation', async (t) => {
  const { inbox, waiting, store, notes, woken } = await withMessage(t, { editPolicyOf: () => 'rerun' })
  await store.run(() => finishEvent(1, done))
  await inbox.accept(message('other'), keys('k2'))
  assert.deepEqual(await inbox.change(edit('two'), keys('k1:e:1')), { status: 'accepted', seq: 3 })
  assert.deepEqual(waiting(), ['2 queued other', '3 queued two'])
  assert.equal(woken.at(-1), 'key:c turn 2')
  assert.deepEqual(notes(), [])
  await inbox.change(edit('three'), keys('k1:e:2'))
  assert.deepEqual(waiting(), ['2 queued other', '3 queued three'], 'the newest version is the one that is edited')
  assert.deepEqual(await inbox.accept(message('one'), keys('k1')), { status: 'duplicate', seq: 3 })
})

test('with `rerun` a queued message is only changed', async (t) => {
  const { inbox, waiting } = await withMessage(t, { editPolicyOf: () => 'rerun' })
  await inbox.change(edit('two'), keys('k1:e:1'))
  assert.deepEqual(waiting(), ['1 queued two'])
})

test('with `ignore` nothing changes, and a repeated edit is recognised', async (t) => {
  const { inbox, waiting, notes } = await withMessage(t, { editPolicyOf: () => 'ignore' })
  assert.equal((await inbox.change(edit('two'), keys('k1:e:1'))).status, 'accepted')
  assert.equal((await inbox.change(edit('two'), keys('k1:e:1'))).status, 'duplicate')
  assert.deepEqual(waiting(), ['1 queued one'])
  assert.deepEqual(notes(), [])
})

test('an edit without a changed text has no effect', async (t) => {
  const { inbox, waiting, store, notes } = await withMessage(t, { editPolicyOf: () => 'rerun' })
  await store.run(() => finishEvent(1, done))
  await inbox.change(edit('one'), keys('k1:e:1'))
  assert.deepEqual(waiting(), [])
  assert.deepEqual(notes(), [])
})

test('changes of a message that was never accepted are refused and not stored', async (t) => {
  const { inbox, rows } = await withMessage(t)
  const [unknown] = keys('never seen')
  const refused = { status: 'refused', reason: 'the changed message was never accepted' }
  assert.deepEqual(await inbox.change({ kind: 'edited', of: unknown, event: message('x') }, keys('e1')), refused)
  const gone = { kind: 'deleted', of: unknown, source: message('').source, timestamp: 1 } as const
  assert.deepEqual(await inbox.change(gone, keys('e2')), refused)
  assert.equal(rows('select key from inbox_keys').length, 1)
})

test('a user without access cannot change a message', async (t) => {
  let allowed = true
  const { inbox, waiting, notes, emitted } = await withMessage(t, {
    access: () => ({ allowed, reason: 'a stranger' }),
  })
  allowed = false
  const refused = { status: 'refused', reason: 'a stranger' }
  assert.deepEqual(await inbox.change(edit('two'), keys('k1:e:1')), refused)
  assert.deepEqual(await inbox.change(deletion(), keys('k1:d')), refused)
  assert.deepEqual(await inbox.change(reaction(), keys('r1')), refused)
  assert.deepEqual([waiting(), notes(), emitted], [['1 queued one'], [], []])
})

test('changes are not accepted while the gateway starts', async (t) => {
  const lifecycle = { phase: 'ready' }
  const { inbox } = await withMessage(t, { lifecycle })
  lifecycle.phase = 'draining'
  await assert.rejects(inbox.change(edit('two'), keys('k1:e:1')), (error) => isHermesError(error, 'http/starting'))
})

test('an edit that is too large leaves the message unchanged', async (t) => {
  const { inbox, waiting } = await withMessage(t)
  await assert.rejects(inbox.change(edit('x'.repeat(20_000)), keys('k1:e:1')), (error) =>
    isHermesError(error, 'inbox/too-large'),
  )
  assert.deepEqual(waiting(), ['1 queued one'])
})

test('a text that becomes a command moves to the control lane, and its waiters are notified', async (t) => {
  const { inbox, stored, woken, settled, store } = await withMessage(t)
  const waits = createEventResults(store).wait
  assert.deepEqual(await inbox.change(edit('/stop'), keys('k1:e:1')), { status: 'accepted', seq: 2 })
  assert.deepEqual(
    stored().map(({ seq, payload }) => [seq, parseStoredEvent(payload).text]),
    [[2, '/stop']],
  )
  assert.equal(woken.at(-1), 'key:c control 1')
  assert.deepEqual(settled, ['1 stopped'])
  assert.equal((await waits(1, new AbortController().signal)).status, 'stopped')
})

test('a command that becomes a text keeps its position among the messages', async (t) => {
  const { inbox, woken, store } = await withMessage(t, {}, message('/status'))
  await inbox.change(edit('status of what?'), keys('k1:e:1'))
  assert.equal(woken.at(-1), 'key:c turn 1')
  assert.equal(await store.run(() => findQueueHead('key:c', 'control')), undefined)
  assert.equal((await store.run(() => findQueueHead('key:c', 'turn')))?.seq, 2)
})

test('a message that is deleted while it is queued is not answered: the chat history shows the reason, and waiters are notified', async (t) => {
  const { inbox, stored, settled, store, rows, notes } = await withMessage(t)
  const outcome = createEventResults(store)
  assert.deepEqual(await inbox.change(deletion(), keys('k1:d')), { status: 'accepted', seq: 1 })
  assert.deepEqual(stored(), [])
  assert.deepEqual(settled, ['1 stopped'])
  assert.equal((await outcome.wait(1, new AbortController().signal)).status, 'stopped')
  assert.deepEqual(
    rows('select state from inbox').map((row) => ({ ...row })),
    [{ state: 'dropped' }],
  )
  assert.equal(notes()[0]?.['event'], 'message:deleted')
  assert.deepEqual(await inbox.change(deletion(), keys('k1:d')), { status: 'duplicate', seq: 1 })
})

test('a message that is deleted after its claim is still answered; the deletion is added to the trace', async (t) => {
  const { inbox, waiting, settled, store, notes } = await withMessage(t)
  await claim(store)
  await inbox.change(deletion(), keys('k1:d'))
  assert.deepEqual(waiting(), ['1 claimed one'])
  assert.deepEqual(settled, [])
  assert.equal(notes()[0]?.['event'], 'message:deleted')
})

test('if the platform does not report who deleted a message, access is checked for its author', async (t) => {
  const { inbox, stored } = await withMessage(t, {
    access: ({ source }) => ({ allowed: source.userId === 'u', reason: 'by name' }),
  })
  const { userId: _, ...withoutUser } = message('').source
  assert.equal(
    (await inbox.change({ kind: 'deleted', of: original, source: withoutUser, timestamp: 2 }, keys('k1:d'))).status,
    'accepted',
  )
  assert.deepEqual(stored(), [])
})

function reaction(more: Partial<ReactionChange> = {}): ReactionChange {
  return {
    kind: 'reaction',
    source: { ...message('').source, scopeId: 'T1' },
    added: true,
    reaction: 'thumbsup',
    messageId: '1700000000.000100',
    timestamp: 1_700_000_001_500,
    raw: { type: 'reaction_added' },
    ...more,
  }
}

test('a reaction is published once, in the format of the contract, after it was stored', async (t) => {
  const { inbox, emitted, rows, stored, woken, store } = await withMessage(t)
  assert.deepEqual(await inbox.change(reaction({ itemUserId: 'bot' }), keys('r1')), { status: 'accepted', seq: 2 })
  assert.deepEqual(await inbox.change(reaction(), keys('r1')), { status: 'duplicate', seq: 2 })
  await inbox.change(reaction({ added: false }), keys('r2'))
  assert.deepEqual(
    emitted.map(({ name }) => name),
    ['reaction:added', 'reaction:removed'],
  )
  assert.deepEqual(emitted[0]?.context, {
    platform: 'chat',
    reaction: 'thumbsup',
    user_id: 'u',
    item_user_id: 'bot',
    item_type: 'message',
    channel_id: 'c',
    message_ts: '1700000000.000100',
    team_id: 'T1',
    event_ts: '1700000001.500000',
    raw_event: { type: 'reaction_added' },
  })
  assert.equal(stored().length, 1, 'a reaction starts no turn')
  const ever = {
    after: { at: 0, row: 0 },
    before: { at: Number.MAX_SAFE_INTEGER, row: 0 },
    from: 'newest',
    limit: 9,
  } as const
  const lines = await store.run(() => listChatEvents({ platform: 'chat', account: 'bot', chatId: 'c' }, ever))
  assert.deepEqual(
    lines.map(({ seq }) => seq),
    [1],
    'and it is no line of the chat',
  )
  assert.equal(woken.length, 1)
  assert.equal(rows("select seq from inbox where kind = 'reaction' and outcome is not null").length, 2)
})

test('with gateway events disabled reactions are not published', async (t) => {
  const { inbox, emitted } = await withMessage(t, { emitsMessageEvents: () => false })
  assert.equal((await inbox.change(reaction(), keys('r1'))).status, 'accepted')
  assert.deepEqual(emitted, [])
})

test('an edit has the authority of the person who edits, and an adapter brings none', async (t) => {
  let role: Role = 'member'
  const forged = { role: 'owner', platform: 'cli', chatType: 'dm' } as const
  const { inbox, stored } = await withMessage(
    t,
    // The lookup of a role may take a moment.
    { lookUpAuthority: async ({ platform, chatType }) => ({ role, platform, chatType }) },
    message('one', { authority: forged }),
  )
  const storedRole = () => parseStoredEvent(stored()[0]?.payload ?? '{}').authority?.role
  assert.equal(storedRole(), 'member')
  role = 'guest'
  await inbox.change(edit('two', { authority: forged }), keys('k1:e:1'))
  assert.equal(storedRole(), 'guest')
})

test('a message that another person edits bears the name of that person', async (t) => {
  const { inbox, stored } = await withMessage(t, {}, message('one', { source: author('ada', 'Ada') }))
  await inbox.change(edit('two', { source: author('mia') }), keys('k1:e:1'))
  const { source } = parseStoredEvent(stored()[0]?.payload ?? '{}')
  assert.deepEqual([source.userId, source.userName], ['mia', undefined])
})

function author(userId: string, userName?: string): MessageEvent['source'] {
  const { userName: _, ...source } = message('').source
  return { ...source, userId, ...(userName === undefined ? {} : { userName }) }
}
