import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Question } from '../../src/approvals/question.ts'
import { isHermesError } from '../../src/lib/errors.ts'
import { brand } from '../../src/lib/ids.ts'
import { enlist, type TransactionPart } from '../../src/store/query.ts'
import { toJsonValue } from '../kit/to-json-value.ts'
import { ada, bob, key, openQuestions, slashQuestion } from './support.ts'

test('a question is sent with its buttons', async (t) => {
  const { ask, sent } = openQuestions(t)
  assert.equal(await ask({ replyTo: 'm0' }), 'Go on?')
  const [reply] = sent
  assert.deepEqual([reply?.text, reply?.kind, reply?.replyTo, reply?.sessionKey], ['Go on?', 'notice', 'm0', key])
  assert.deepEqual(toJsonValue(reply?.buttons), [
    { id: 'sc:once:q1', label: 'Once' },
    { id: 'sc:always:q1', label: 'Always' },
    { id: 'sc:cancel:q1', label: 'Cancel', style: 'danger' },
  ])
})

test('the ids of buttons have the format of the contract', async (t) => {
  const { ask, sent } = openQuestions(t)
  await ask({ kind: 'approval' })
  await ask({ kind: 'clarify' })
  const ids = sent.flatMap(({ buttons = [] }) => buttons.map(({ id }) => id))
  assert.deepEqual(ids, ['appr:q1:once', 'appr:q1:always', 'appr:q1:cancel', 'cl:q2:0', 'cl:q2:1', 'cl:q2:2'])
})

test('without buttons the text lists the typed commands', async (t) => {
  const { ask, sent } = openQuestions(t, { showsButtons: () => false, commandPrefix: '!' })
  await ask()
  assert.equal(sent[0]?.text, 'Go on?\n\n- `!approve`: Once\n- `!approve always`: Always\n- `!deny`: Cancel')
  assert.equal(sent[0]?.buttons, undefined)
})

test('a press is stored with its effect, and the buttons are removed', async (t) => {
  const { ask, press, sent, enqueued, woken, failpoints, states } = openQuestions(t)
  await ask()
  assert.deepEqual(await press('sc:once:q1'), { status: 'taken', text: 'Going on.' })
  assert.deepEqual({ ...states()[0] }, { id: 'q1', state: 'answered', answer: 'once', answered_by: 'u7' })
  const [event] = enqueued()
  assert.deepEqual([event?.sessionKey, event?.key, woken], [key, 'question:q1', [key]])
  assert.deepEqual([event?.event.text, event?.event.internal], ['/new', true])
  assert.equal(event?.event.metadata?.['question'], 'q1')
  assert.deepEqual(failpoints, ['question:answered'])
  const edit = sent.at(-1)
  assert.deepEqual(edit?.draft, { platformId: 'm1', shownText: '' })
  assert.equal(edit?.text, 'Go on?\n\n**Once** — Ada')
  assert.equal(edit?.buttons, undefined)
})

test('repeated and concurrent presses take effect once', async (t) => {
  const { ask, press, enqueued, sent } = openQuestions(t)
  await ask()
  const answers = await Promise.all([press('sc:once:q1'), press('sc:once:q1'), press('sc:cancel:q1')])
  assert.deepEqual(answers.map(({ status }) => status).sort(), ['stale', 'stale', 'taken'])
  assert.equal(answers[1]?.text, 'This was answered before: Once.')
  assert.equal(enqueued().length, 1)
  assert.equal(
    new Set(sent.slice(1).map(({ key: name }) => name)).size,
    1,
    'every edit has the same key, so only one counts',
  )
})

test('a choice without an event only resolves the question', async (t) => {
  const { ask, press, enqueued, woken } = openQuestions(t)
  await ask()
  assert.deepEqual(await press('sc:cancel:q1'), { status: 'taken', text: 'Cancelled.' })
  assert.deepEqual([enqueued(), woken], [[], []])
})

test('an unknown button is stale and changes nothing', async (t) => {
  const { ask, press, sent, states } = openQuestions(t)
  await ask()
  for (const id of [
    '',
    'x',
    'sc:once:q2',
    'sc:maybe:q1',
    'appr:q1:once',
    'sc:once:q1:more',
    'cl:q1:0',
    `sc:once:${'x'.repeat(500)}`,
  ]) {
    assert.deepEqual(await press(id), { status: 'stale', text: 'This question is no longer open.' }, id)
  }
  assert.equal(sent.length, 1)
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('a press counts only in the chat, account and platform of the question', async (t) => {
  const { ask, press } = openQuestions(t)
  await ask()
  for (const change of [{ chatId: 'other' }, { account: 'other' }, { platform: 'other' }]) {
    assert.equal((await press('sc:once:q1', { ...ada, ...change })).status, 'stale', JSON.stringify(change))
  }
})

test('only the user who is asked may answer, except in a shared session', async (t) => {
  const { ask, press, shared, sent } = openQuestions(t)
  await ask()
  assert.equal((await press('sc:once:q1', bob)).status, 'refused')
  assert.equal(sent.length, 1)
  shared.add('c')
  assert.equal((await press('sc:once:q1', bob)).status, 'taken')
  assert.match(sent.at(-1)?.text ?? '', /\*\*Once\*\* — Bob$/)
})

test('a question that needs approval says who may answer, and so does the refusal of another person', async (t) => {
  const group = { ...ada, chatType: 'group' as const }
  const person = 'Only the person who asked for it may answer.'
  const cases: readonly [Partial<Question>, string, boolean][] = [
    [{ kind: 'approval', source: ada }, person, false],
    [{ kind: 'approval', source: group }, person, false],
    [{ kind: 'slash-confirm', source: group }, person, false],
    [{ kind: 'approval', source: group }, 'Everyone who may write to the agent here may answer.', true],
    [
      { kind: 'approval', source: group, approver: 'requester' },
      'The person who asked for it, or an owner, may answer.',
      false,
    ],
    [{ kind: 'approval', source: group, approver: 'owner' }, 'Only an owner may answer.', false],
    [
      { kind: 'approval', source: group, approver: 'other_owner' },
      'Only an owner who did not ask for it may answer.',
      false,
    ],
  ]
  for (const [index, [question, sentence, isShared]] of cases.entries()) {
    const { ask, press, typed, shared, sent } = openQuestions(t, { showsButtons: () => index % 2 === 0 })
    if (isShared) shared.add('c')
    await ask(question)
    assert.ok(sent[0]?.text.startsWith(`Go on?\n\n${sentence}`), sent[0]?.text)
    if (isShared) continue
    const button = question.kind === 'approval' ? 'appr:q1:once' : 'sc:once:q1'
    assert.deepEqual(await press(button, bob), { status: 'refused', text: sentence })
    assert.equal(await typed('approve', { by: bob }), sentence)
  }
})

test('a confirmation in a private chat and a question of the agent do not say who may answer', async (t) => {
  const { ask, sent } = openQuestions(t)
  await ask({ kind: 'slash-confirm' })
  await ask({ kind: 'clarify', source: { ...ada, chatType: 'group' } })
  assert.deepEqual(
    sent.map(({ text }) => text),
    ['Go on?', 'Go on?'],
  )
})

test('a user without access may not press, and learns nothing about the question', async (t) => {
  const { ask, press, states, accounts } = openQuestions(t)
  accounts.access = () => ({ allowed: false, reason: 'on no list' })
  await ask()
  for (const id of ['sc:once:q1', 'sc:once:q9']) {
    assert.deepEqual(await press(id), { status: 'refused', text: 'You may not use this agent.' })
  }
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('a press while the daemon starts or stops is rejected, so that the platform delivers it again', async (t) => {
  const { ask, press } = openQuestions(t, { isOpen: () => false })
  await ask()
  await assert.rejects(press('sc:once:q1'), (error) => isHermesError(error, 'http/starting'))
})

test('a press after the expiry is stale, has no effect and updates the message', async (t) => {
  const { ask, press, clock, enqueued, sent, states } = openQuestions(t)
  await ask()
  clock.advance(300_000)
  const answer = await press('sc:once:q1')
  assert.deepEqual(answer, { status: 'stale', text: 'This has expired. Nothing was done.' })
  assert.deepEqual([enqueued().length, states()[0]?.['state']], [0, 'expired'])
  assert.equal(sent.at(-1)?.text, 'Go on?\n\n*No answer in time. Nothing was done.*')
  assert.equal(sent.at(-1)?.draft?.platformId, 'm1')
})

test('the name of the user cannot inject markup into the message', async (t) => {
  const names = ['**x** [y](http://z)', 'a`b\n# c', '', '@everyone', 'x'.repeat(500)]
  for (const userName of names) {
    const { ask, press, sent } = openQuestions(t)
    await ask()
    await press('sc:once:q1', { ...ada, userName })
    const line = sent.at(-1)?.text.split('\n\n')[1] ?? ''
    assert.match(line, /^\*\*Once\*\* — (`[^`]*`|x{80}|u7)$/, userName)
  }
})

test('a repeated confirmation replaces the open one', async (t) => {
  const { ask, press, sent, show, states } = openQuestions(t)
  await ask()
  show('question:q1', 'm1')
  await ask()
  assert.deepEqual(
    states().map(({ state }) => state),
    ['expired', 'waiting'],
  )
  const edit = sent.find(({ draft }) => draft?.platformId === 'm1')
  assert.equal(edit?.text, 'Go on?\n\n*Asked again below.*')
  assert.equal((await press('sc:once:q1')).status, 'stale')
  assert.equal((await press('sc:once:q2', ada, 'm2')).status, 'taken')
})

test('approvals of tools, and questions of other sessions, stay open next to each other', async (t) => {
  const { ask, states } = openQuestions(t)
  await ask({ kind: 'approval' })
  await ask({ kind: 'approval' })
  await ask()
  await ask({ sessionKey: brand('another') })
  assert.deepEqual(
    states().map(({ state }) => state),
    ['waiting', 'waiting', 'waiting', 'waiting'],
  )
})

test('oldestWaiting returns the oldest open question, not an expired one', async (t) => {
  const { ask, clock, questions } = openQuestions(t)
  assert.equal(await questions.oldestWaiting(key), undefined)
  await ask({ kind: 'approval', text: 'first', timeoutMs: 1_000 })
  clock.advance(10)
  await ask({ text: 'second' })
  assert.equal((await questions.oldestWaiting(key))?.text, 'first\n\nOnly the person who asked for it may answer.')
  clock.advance(1_000)
  assert.equal((await questions.oldestWaiting(key))?.text, 'second')
})

test('a retried transaction leaves one question and one answer', async (t) => {
  const { store, clock, questions, sent, enqueued } = openQuestions(t)
  const asked = questions.ask(slashQuestion())
  let tries = 0
  const ending: TransactionPart = {
    *write(now) {
      yield* enlist(asked, now)
      tries += 1
      if (tries === 1) throw new Error('once more')
    },
  }
  await store.commit(ending, clock.now, async () => undefined)
  assert.equal(sent.length, 1)
  const answer = questions.answerTyped(key, { words: 'approve', all: false, reason: '', by: ada })
  const failing = store.run(function* () {
    yield* enlist(answer, clock.now())
    throw new Error('never')
  })
  await assert.rejects(failing, /never/)
  assert.deepEqual([sent.length, enqueued().length], [1, 0], 'a part that is rolled back stores and sends nothing')
})
