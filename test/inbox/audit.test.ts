import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AuditRow, auditInbox, classifyEvent } from '../../src/inbox/audit.ts'
import { acceptEvent, claimEvent, finishEvent } from '../../src/inbox/queries.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
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

test('an interrupted message counts as absorbed into the turn of the message that interrupted it', async (t) => {
  const { store } = openStore(t)
  const event = {
    sessionKey: 'k',
    lane: 'turn',
    kind: 'text',
    platform: 'p',
    account: 'a',
    chatId: 'c',
    payload: '{}',
  } as const
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
  const event = {
    sessionKey: 'k',
    lane: 'turn',
    kind: 'text',
    platform: 'p',
    account: 'a',
    chatId: 'c',
    payload: '{}',
  } as const
  const [audited] = await store.run(function* () {
    const { seq } = yield* acceptEvent(event, ['one'], 1)
    yield* claimEvent(seq, 'turn-1')
    yield* finishEvent(seq, result({ status: 'interrupted', interruptedBy: 99 }))
    return yield* auditInbox(0, 10)
  })
  assert.equal(audited?.ending, 'unaccounted')
})
