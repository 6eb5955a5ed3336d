import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import { brand } from '../../src/lib/ids.ts'
import { ada, bob, key, room, slashQuestion } from './support.ts'

test('a question carries its buttons, each with an id that fits every platform', async (t) => {
  const { ask, sent } = room(t)
  assert.equal(await ask({ replyTo: 'm0' }), 'Go on?')
  const [reply] = sent
  assert.deepEqual([reply?.text, reply?.kind, reply?.replyTo, reply?.sessionKey], ['Go on?', 'notice', 'm0', key])
  assert.deepEqual(reply?.buttons, [
    { id: 'sc:once:q1', label: 'Once' },
    { id: 'sc:always:q1', label: 'Always' },
    { id: 'sc:cancel:q1', label: 'Cancel', style: 'danger' },
  ])
})

test('the ids of buttons have the form of the contract', async (t) => {
  const { ask, sent } = room(t)
  await ask({ kind: 'approval' })
  await ask({ kind: 'clarify' })
  const ids = sent.flatMap(({ buttons = [] }) => buttons.map(({ id }) => id))
  assert.deepEqual(ids, ['appr:q1:once', 'appr:q1:always', 'appr:q1:cancel', 'cl:q2:0', 'cl:q2:1', 'cl:q2:2'])
})

test('where there are no buttons, the text names what can be typed', async (t) => {
  const { ask, sent } = room(t, { showsButtons: () => false, commandPrefix: () => '!' })
  await ask()
  assert.equal(sent[0]?.text, 'Go on?\n\n- `!approve`: Once\n- `!approve always`: Always\n- `!deny`: Cancel')
  assert.equal(sent[0]?.buttons, undefined)
})

test('a press is stored with what follows from it, and the message loses its buttons', async (t) => {
  const { ask, press, sent, handedIn, woken, points, states } = room(t)
  await ask()
  assert.deepEqual(await press('sc:once:q1'), { status: 'taken', text: 'Going on.' })
  assert.deepEqual({ ...states()[0] }, { id: 'q1', state: 'answered', answer: 'once', answered_by: 'u7' })
  const [event] = handedIn
  assert.deepEqual([event?.sessionKey, event?.key, woken], [key, 'question:q1', [key]])
  assert.deepEqual([event?.event.text, event?.event.internal], ['/new', true])
  assert.equal(event?.event.metadata?.['question'], 'q1')
  assert.deepEqual(points, ['question:answered'])
  const edit = sent.at(-1)
  assert.deepEqual(edit?.draft, { platformId: 'm1', shownText: '' })
  assert.equal(edit?.text, 'Go on?\n\n**Once** — Ada')
  assert.equal(edit?.buttons, undefined)
})

test('pressed twice, also both at once, it is done once', async (t) => {
  const { ask, press, handedIn, sent } = room(t)
  await ask()
  const answers = await Promise.all([press('sc:once:q1'), press('sc:once:q1'), press('sc:cancel:q1')])
  assert.deepEqual(answers.map(({ status }) => status).sort(), ['stale', 'stale', 'taken'])
  assert.equal(answers[1]?.text, 'This was answered before: Once.')
  assert.equal(handedIn.length, 1)
  assert.equal(
    new Set(sent.slice(1).map(({ key: name }) => name)).size,
    1,
    'every edit has the same name, so one counts',
  )
})

test('a choice without a consequence only ends the question', async (t) => {
  const { ask, press, handedIn, woken } = room(t)
  await ask()
  assert.deepEqual(await press('sc:cancel:q1'), { status: 'taken', text: 'Cancelled.' })
  assert.deepEqual([handedIn, woken], [[], []])
})

test('a button of nothing we know is stale and changes nothing', async (t) => {
  const { ask, press, sent, states } = room(t)
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

test('a press counts only in the chat, on the account and on the platform that were asked', async (t) => {
  const { ask, press } = room(t)
  await ask()
  for (const change of [{ chatId: 'other' }, { account: 'other' }, { platform: 'other' }]) {
    assert.equal((await press('sc:once:q1', { ...ada, ...change })).status, 'stale', JSON.stringify(change))
  }
})

test('nobody answers for somebody else, unless they share the session', async (t) => {
  const { ask, press, shared, sent } = room(t)
  await ask()
  assert.equal((await press('sc:once:q1', bob)).status, 'refused')
  assert.equal(sent.length, 1)
  shared.add('c')
  assert.equal((await press('sc:once:q1', bob)).status, 'taken')
  assert.match(sent.at(-1)?.text ?? '', /\*\*Once\*\* — Bob$/)
})

test('whoever may not talk to the agent may not press, and learns nothing', async (t) => {
  const { ask, press, states } = room(t, { access: () => ({ allowed: false, reason: 'on no list' }) })
  await ask()
  for (const id of ['sc:once:q1', 'sc:once:q9']) {
    assert.deepEqual(await press(id), { status: 'refused', text: 'You may not use this agent.' })
  }
  assert.equal(states()[0]?.['state'], 'waiting')
})

test('a press while the daemon starts or stops is not taken, so that the platform asks again', async (t) => {
  const { ask, press } = room(t, { isOpen: () => false })
  await ask()
  await assert.rejects(press('sc:once:q1'), (error) => isHermesError(error, 'http/starting'))
})

test('a press after its time is stale, says so in the chat and does nothing', async (t) => {
  const { ask, press, clock, handedIn, sent, states } = room(t)
  await ask()
  clock.advance(300_000)
  const answer = await press('sc:once:q1')
  assert.deepEqual(answer, { status: 'stale', text: 'This has expired. Nothing was done.' })
  assert.deepEqual([handedIn.length, states()[0]?.['state']], [0, 'expired'])
  assert.equal(sent.at(-1)?.text, 'Go on?\n\n*No answer in time. Nothing was done.*')
  assert.equal(sent.at(-1)?.draft?.platformId, 'm1')
})

test('the name of whoever answered cannot change how the message reads', async (t) => {
  const names = ['**x** [y](http://z)', 'a`b\n# c', '', '@everyone', 'x'.repeat(500)]
  for (const userName of names) {
    const { ask, press, sent } = room(t)
    await ask()
    await press('sc:once:q1', { ...ada, userName })
    const line = sent.at(-1)?.text.split('\n\n')[1] ?? ''
    assert.match(line, /^\*\*Once\*\* — (`[^`]*`|x{80}|u7)$/, userName)
  }
})

test('a command that is asked about again takes the place of the one that waits', async (t) => {
  const { ask, press, sent, platformIds, states } = room(t)
  await ask()
  platformIds.set('question:q1', 'm1')
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

test('tools ask side by side, and sessions apart from each other', async (t) => {
  const { ask, states } = room(t)
  await ask({ kind: 'approval' })
  await ask({ kind: 'approval' })
  await ask()
  await ask({ sessionKey: brand('another') })
  assert.deepEqual(
    states().map(({ state }) => state),
    ['waiting', 'waiting', 'waiting', 'waiting'],
  )
})

test('what waits longest is told, what is over is not', async (t) => {
  const { ask, clock, questions } = room(t)
  assert.equal(await questions.oldestWaiting(key), undefined)
  await ask({ kind: 'approval', text: 'first', timeoutMs: 1_000 })
  clock.advance(10)
  await ask({ text: 'second' })
  assert.equal((await questions.oldestWaiting(key))?.text, 'first')
  clock.advance(1_000)
  assert.equal((await questions.oldestWaiting(key))?.text, 'second')
})

test('a transaction that is tried again leaves one question and one answer', async (t) => {
  const { store, clock, questions, sent, handedIn } = room(t)
  const asked = questions.ask(slashQuestion())
  let tries = 0
  const again = () =>
    store.run(function* () {
      yield* asked.write(clock.now())
      tries += 1
      if (tries === 1) throw new Error('once more')
    })
  await assert.rejects(again())
  await again()
  asked.committed()
  assert.equal(sent.length, 1)
  const failed = questions.answerTyped(key, { words: 'approve', all: false, reason: '', by: ada })
  await store.run(() => failed.write(clock.now())).then(failed.abandoned)
  failed.committed()
  assert.deepEqual([sent.length, handedIn.length], [1, 1], 'what is given up sends nothing')
})
