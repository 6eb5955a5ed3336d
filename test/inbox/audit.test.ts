import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AuditRow, auditInbox, classifyEvent } from '../../src/inbox/audit.ts'
import { acceptEvent, claimEvent, finishEvent } from '../../src/inbox/queries.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
import { insertRow } from '../../src/outbox/queries.ts'
import { appendMessage } from '../../src/sessions/transcript.ts'
import type { Transaction } from '../../src/store/query.ts'
import { openStore } from '../kit/open-store.ts'

const result = (changes: Partial<TurnResult> = {}): TurnResult => ({
  status: 'done',
  text: 'Hello.',
  sessionId: 's',
  model: 'm',
  usage: { inputTokens: 0, outputTokens: 0 },
  ...changes,
})

const row = (changes: Partial<AuditRow> = {}): AuditRow => ({
  seq: 1,
  session_key: 'k',
  lane: 'turn',
  kind: 'text',
  state: 'done',
  turn_id: 't',
  reason: null,
  outcome: JSON.stringify(result()),
  busy_mode: null,
  turn_state: 'done',
  interrupted_by: null,
  how: 'head',
  ...changes,
})

const outcome = (changes: Partial<TurnResult>) => ({ outcome: JSON.stringify(result(changes)) })

const endings: readonly (readonly [string, Partial<AuditRow>, string])[] = [
  ['a message that waits is open', { state: 'queued', turn_id: null, turn_state: null, outcome: null }, 'open'],
  ['a message in a running turn is open', { state: 'claimed', turn_state: 'running', outcome: null }, 'open'],
  ['an answer counts as answered', {}, 'answered'],
  ['an answer whose turn was deleted by the retention counts as answered', { turn_state: null }, 'answered'],
  ['a silent reply counts as silent', outcome({ text: '[SILENT]' }), 'silent'],
  ['a stopped turn counts as silent', { ...outcome({ status: 'stopped', text: '' }), turn_state: 'stopped' }, 'silent'],
  ['a failure with a notice counts as failed', { ...outcome({ status: 'failed' }), turn_state: 'failed' }, 'failed'],
  [
    'a dead letter with a notice counts as failed',
    { state: 'dead', ...outcome({ status: 'failed' }), turn_state: 'failed' },
    'failed',
  ],
  ['a withdrawn message counts as silent', { state: 'dropped', ...outcome({ status: 'stopped', text: '' }) }, 'silent'],
  [
    'a message beyond the limit of its queue is open until its sender was told',
    { state: 'dropped', busy_mode: 'refused', ...outcome({ status: 'failed' }) },
    'open',
  ],
  [
    'a message beyond the limit of its queue counts as failed',
    { state: 'dropped', ...outcome({ status: 'failed' }) },
    'failed',
  ],
  ['a command that replied counts as answered', { lane: 'control' }, 'answered'],
  ['a message that stays claimed after its turn is unaccounted', { state: 'claimed', outcome: null }, 'unaccounted'],
  ['a message without a result is unaccounted', { outcome: null }, 'unaccounted'],
  ['an empty answer is unaccounted', outcome({ text: '' }), 'unaccounted'],
  [
    'a failure without a notice is unaccounted',
    { ...outcome({ status: 'failed', text: '' }), turn_state: 'failed' },
    'unaccounted',
  ],
  ['a result that contradicts its turn is unaccounted', { turn_state: 'failed' }, 'unaccounted'],
  ['a dropped message without a result is unaccounted', { state: 'dropped', outcome: null }, 'unaccounted'],
]

for (const [name, changes, ending] of endings)
  test(name, () => assert.equal(classifyEvent(row(changes)).ending, ending))

const event = {
  sessionKey: 'k',
  lane: 'turn',
  kind: 'text',
  platform: 'p',
  account: 'a',
  chatId: 'c',
  payload: payloadOf({}),
} as const

function payloadOf(changes: object): string {
  const source = { platform: 'p', account: 'a', chatId: 'c', chatType: 'dm', userId: 'u' }
  return JSON.stringify({ source, text: 'x', messageType: 'text', timestamp: 1, ...changes })
}

/** A message of the gateway in the chat of `event`. */
function* storeReply(key: string, text = 'Hello.', createdAt = 5): Transaction<void> {
  const address = { platform: 'p', account: 'a', chat_id: 'c', thread_id: '', session_key: null, turn_id: null }
  const content = { kind: 'reply', op: 'send', target: null, text, reply_to: null, platform_id: null } as const
  yield* insertRow({ key, ...address, ...content, state: 'sent' }, createdAt)
}

/** How the audit accounts for one message with this result. */
async function endingOf(
  t: TestContext,
  changes: {
    payload?: string
    lane?: 'turn' | 'control'
    outcome?: Partial<TurnResult>
    replies?: [string, string?, number?][]
  },
): Promise<string | undefined> {
  const { store } = openStore(t)
  const [audited] = await store.run(function* () {
    const accepted = { ...event, lane: changes.lane ?? event.lane, payload: changes.payload ?? event.payload }
    const { seq } = yield* acceptEvent(accepted, ['one'], 1)
    yield* claimEvent(seq, accepted.lane === 'turn' ? 't1' : null)
    yield* finishEvent(seq, result(changes.outcome))
    for (const reply of changes.replies ?? []) yield* storeReply(...reply)
    return yield* auditInbox(0, 10)
  })
  return audited?.ending
}

test('an answer counts only with its reply in the outbox', async (t) => {
  assert.equal(await endingOf(t, { replies: [['turn:t1:1']] }), 'answered')
  // The notices of a turn do not answer the message.
  assert.equal(await endingOf(t, { replies: [['turn:t1:resumed:1', 'Hello.', 0]] }), 'unaccounted')
})

test('a failure counts only with its notice in the outbox', async (t) => {
  assert.equal(await endingOf(t, { outcome: { status: 'failed' }, replies: [['turn:t1:1']] }), 'failed')
  assert.equal(await endingOf(t, { outcome: { status: 'failed' } }), 'unaccounted')
})

test('a text before tools is the answer only where the model wrote none after them', async (t) => {
  const { store } = openStore(t)
  const audit = (turn: string, last: string) =>
    store.run(function* () {
      const { seq } = yield* acceptEvent(event, [turn], 1)
      yield* claimEvent(seq, turn)
      const message = (content: string) => ({ role: 'assistant' as const, content })
      yield* appendMessage({ sessionId: turn, turnId: turn, ord: 0, message: message('Hello.') }, 1)
      yield* appendMessage({ sessionId: turn, turnId: turn, ord: 1, message: message(last) }, 1)
      yield* storeReply(`turn:${turn}:text:0:1`, 'Hello.', 0)
      yield* finishEvent(seq, result({ sessionId: turn }))
      return (yield* auditInbox(seq - 1, 1))[0]?.ending
    })
  assert.deepEqual([await audit('t1', ''), await audit('t2', 'Done.')], ['answered', 'unaccounted'])
})

test('a command counts only with its reply or its question in the outbox', async (t) => {
  assert.equal(await endingOf(t, { lane: 'control', replies: [['command:1:1']] }), 'answered')
  assert.equal(await endingOf(t, { lane: 'control', replies: [['question:q:1', 'Hello.']] }), 'answered')
  assert.equal(await endingOf(t, { lane: 'control', replies: [['question:q:1', 'Other.', 0]] }), 'unaccounted')
})

test('a message beyond the limit of its queue counts only with a notice of its burst', async (t) => {
  const full = { status: 'failed', errorCode: 'inbox/queue-full' } as const
  assert.equal(await endingOf(t, { outcome: full, replies: [['refused:7:1']] }), 'failed')
  assert.equal(await endingOf(t, { outcome: full, replies: [['refused:0:1', '', 0]] }), 'unaccounted')
  const payload = payloadOf({ metadata: { attended: 'no' } })
  assert.equal(await endingOf(t, { outcome: full, payload }), 'failed', 'a program reads the result itself')
})

test('a task without a target needs no reply', async (t) => {
  const task = { id: 'x', deliver: null, toolsets: [], route: '' }
  assert.equal(await endingOf(t, { payload: payloadOf({ task }) }), 'answered')
})

test('a reply that the retention has deleted counts as sent', async (t) => {
  // The oldest row that is left was stored after the message.
  assert.equal(await endingOf(t, { replies: [['turn:later:1', 'Later.', 9]] }), 'answered')
})

test('an interrupted message counts as absorbed into the turn of the message that interrupted it', async (t) => {
  const { store } = openStore(t)
  const audited = await store.run(function* () {
    const first = yield* acceptEvent(event, ['one'], 1)
    const second = yield* acceptEvent(event, ['two'], 2)
    const third = yield* acceptEvent(event, ['three'], 3)
    yield* claimEvent(first.seq, 'turn-1')
    yield* finishEvent(first.seq, result({ status: 'interrupted', interruptedBy: second.seq }))
    yield* claimEvent(second.seq, 'turn-2')
    yield* finishEvent(second.seq, result({ status: 'interrupted', interruptedBy: third.seq }))
    yield* claimEvent(third.seq, 'turn-3')
    yield* finishEvent(third.seq, result())
    yield* storeReply('turn:turn-3:1')
    return yield* auditInbox(0, 10)
  })
  assert.deepEqual(
    audited.map(({ ending, finally: final, turnId }) => [ending, final, turnId]),
    [
      ['absorbed', 'answered', 'turn-3'],
      ['absorbed', 'answered', 'turn-3'],
      ['answered', 'answered', 'turn-3'],
    ],
  )
})

test('an interruption by a message that does not exist is unaccounted', async (t) => {
  const { store } = openStore(t)
  const [audited] = await store.run(function* () {
    const { seq } = yield* acceptEvent(event, ['one'], 1)
    yield* claimEvent(seq, 'turn-1')
    yield* finishEvent(seq, result({ status: 'interrupted', interruptedBy: 99 }))
    return yield* auditInbox(0, 10)
  })
  assert.equal(audited?.ending, 'unaccounted')
})
