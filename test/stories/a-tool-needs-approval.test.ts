/**
 * A plugin requires approval before a tool runs. The question is asked in the chat, survives restarts and is asked once.
 */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { hasResult, rowsIn, terminalCall, waitForCommandReply, waitForQuestion } from './support.ts'

const buttons = { capabilities: ['edit', 'buttons'] } as const

const guard = `
  ctx.registerHook('pre_tool_call', ({ tool_name }) =>
    tool_name === 'terminal' ? { action: 'approve', message: 'It runs a command.', rule_key: 'commands' } : null)
  ctx.registerHook('pre_approval_request', ({ command, pattern_key, surface }) =>
    void ctx.log.info({}, ['asked', surface, pattern_key, command].join(' ')))
  ctx.registerHook('post_approval_response', ({ choice, decided_by }) =>
    void ctx.log.info({}, ['decided', choice, decided_by].join(' ')))`

/** The content of the last message: a tool result or a message of the user. */
function lastContent({ body }: RecordedRequest): string {
  const messages = body['messages']
  return Array.isArray(messages) ? String(messages.at(-1)?.content) : ''
}

/** A model that runs the command of the user and then repeats its result. */
function runCommand(request: RecordedRequest): ModelReply {
  if (hasResult(request)) return { text: `It gave: ${lastContent(request)}` }
  const said = lastContent(request)
  return said.startsWith('run ') ? terminalCall(said.slice('run '.length)) : { text: `You said: ${said}` }
}

function guarded(t: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return startTestGateway(t, {
    model: runCommand,
    ...options,
    config: { plugins: { enabled: ['guard'] }, ...options.config },
    prepare: (home) => writeFiles(home.plugins, pluginFiles('guard', guard)),
  })
}

test('a press allows the tool and removes the buttons, and plugins receive the decision', async (t) => {
  const gateway = await guarded(t, buttons)
  await gateway.say('run echo pressed')
  const question = await waitForQuestion(gateway)
  assert.match(
    question.text,
    /`terminal`[\s\S]*```\necho pressed\n```\n\nOnly the person who asked for it may answer\.$/,
  )
  assert.deepEqual(
    question.buttons.map(({ label }) => label),
    ['Allow once', 'This session', 'Always here', 'Deny'],
  )
  assert.equal(gateway.model.requests.length, 1)
  const taken = await gateway.platform.press(question, 'Allow once')
  assert.equal(taken.status, 'taken')
  await gateway.waitForReply(/It gave: .*pressed/)
  await gateway.until(({ id, text }) => id === question.id && text.endsWith('**Allow once** — user'))
  assert.deepEqual(question.buttons, [])
  await gateway.waitForLog('asked gateway commands echo pressed')
  await gateway.waitForLog('decided once user')
  await gateway.waitForEvent('approval:requested', { kind: 'approval' })
  await gateway.waitForEvent('approval:resolved', { outcome: 'answered', answer: 'once' })
})

test('a button that is pressed during a graceful stop counts at the next start', async (t) => {
  const gate = Promise.withResolvers<void>()
  const gateway = await guarded(t, {
    ...buttons,
    model: (request) =>
      lastContent(request) === 'hold on' ? { text: 'held', gate: () => gate.promise } : runCommand(request),
  })
  await gateway.say('run echo later')
  const question = await waitForQuestion(gateway)
  await gateway.say('hold on', { chat: 'other', user: 'bob' })
  await gateway.modelRequest(1)
  const stopped = gateway.stop()
  await gateway.waitForLog({ event: 'gateway.stopping' })
  const { status } = await gateway.platform.press(question, 'Allow once')
  gate.resolve()
  await stopped
  assert.equal(status, 'taken')
  await gateway.start()
  await gateway.waitForReply(/It gave: .*later/)
  assert.equal(rowsIn(gateway.home, 'select id from questions').length, 1)
})

test('without buttons users answer by commands, and the reason of a refusal reaches the model', async (t) => {
  const gateway = await guarded(t)
  await gateway.say('run echo typed')
  const question = await gateway.waitForReply('- `/approve session`: This session')
  assert.match(question.text, /- `\/deny`: Deny$/)
  await gateway.say('/deny not on a Friday')
  await gateway.waitForReply(/It gave: .*not on a Friday/)
  await gateway.say('run echo typed')
  await gateway.until(({ id, text }) => id !== question.id && text.includes('/approve always'))
  await gateway.say('/approve')
  await gateway.waitForReply(/It gave: .*typed/)
})

test('"this session" holds until /new, "always here" holds longer, and another chat is asked', async (t) => {
  const gateway = await guarded(t, buttons)
  const questions = () => gateway.replies().filter((text) => text.startsWith('May I run')).length
  await gateway.say('run echo first')
  await gateway.platform.press(await gateway.waitForReply('echo first'), 'This session')
  await gateway.waitForReply(/It gave: .*first/)
  await gateway.say('run echo second')
  await gateway.waitForReply(/It gave: .*second/)
  assert.equal(questions(), 1)
  await gateway.say('/new')
  await waitForCommandReply(gateway)
  await gateway.say('run echo third')
  await gateway.platform.press(await gateway.waitForReply('echo third'), 'Always here')
  await gateway.waitForReply(/It gave: .*third/)
  await gateway.say('/new again')
  await waitForCommandReply(gateway, 'again')
  await gateway.say('run echo fourth')
  await gateway.waitForReply(/It gave: .*fourth/)
  assert.equal(questions(), 2)
  await gateway.say('run echo fifth', { chat: 'elsewhere' })
  await waitForQuestion(gateway, 'elsewhere')
})

test('an expired question refuses the tool, and the model receives the reason', async (t) => {
  const gateway = await guarded(t, { ...buttons, config: { approvals: { timeout: 2 } } })
  await gateway.say('run echo late')
  const question = await waitForQuestion(gateway)
  await gateway.waitForReply(/It gave: .*error/)
  await gateway.until(({ id, buttons: current }) => id === question.id && current.length === 0)
  await gateway.waitForEvent('approval:resolved', { outcome: 'expired' })
  await gateway.waitForLog('decided timeout')
})

test('/stop cancels the turn and its question, and the next message is answered', async (t) => {
  const gateway = await guarded(t, buttons)
  await gateway.say('run echo stopped')
  const question = await waitForQuestion(gateway)
  const { buttons: old } = question
  await gateway.say('/stop')
  await waitForCommandReply(gateway)
  await gateway.until(({ id, text }) => id === question.id && text.includes('Cancelled'))
  assert.deepEqual(question.buttons, [])
  const late = await gateway.platform.press({ ...question, buttons: old }, 'Allow once')
  assert.equal(late.status, 'stale')
  await gateway.waitForLog('decided cancelled')
  await gateway.waitForEvent('approval:resolved', { outcome: 'cancelled' })
  await gateway.say('still there?')
  await gateway.waitForReply('You said: still there?')
})

test('while a session waits for approval, other sessions continue and its own messages wait', async (t) => {
  const gateway = await guarded(t, buttons)
  await gateway.say('run echo mine')
  const question = await waitForQuestion(gateway)
  await gateway.say('hello', { chat: 'another' })
  await gateway.waitForReply('You said: hello', 'another')
  await gateway.say('and then?')
  await gateway.say('/status')
  await waitForCommandReply(gateway, '`terminal`')
  await gateway.platform.press(question, 'Allow once')
  await gateway.waitForReply('You said: and then?')
  const texts = gateway.replies()
  assert.ok(texts.findIndex((text) => text.includes('mine')) < texts.indexOf('You said: and then?'))
})

test('in a group only the user who was asked may decide', async (t) => {
  const gateway = await guarded(t, buttons)
  await gateway.say('run echo hers', { chat: 'group', chatType: 'group', user: 'ada' })
  const question = await waitForQuestion(gateway, 'group')
  const asBob = await gateway.platform.press(question, 'Allow once', { chatType: 'group', user: 'bob' })
  assert.equal(asBob.status, 'refused')
  await gateway.say('/approve', { chat: 'group', chatType: 'group', user: 'bob' })
  await waitForCommandReply(gateway, '', 'group')
  assert.equal(rowsIn(gateway.home, 'select state from questions')[0]?.['state'], 'waiting')
  await gateway.platform.press(question, 'Allow once', { chatType: 'group', user: 'ada' })
  await gateway.waitForReply(/It gave: .*hers/, 'group')
})

test('a stop does not wait for the answer; the next start waits for it without asking again', async (t) => {
  const gateway = await guarded(t, { ...buttons, config: { agent: { drain_timeout: 3_600 } } })
  await gateway.say('run echo patient')
  const question = await waitForQuestion(gateway)
  await gateway.stop()
  const [{ expires_at: before } = { expires_at: 0 }] = rowsIn(gateway.home, 'select expires_at from questions')
  // Simulates an hour without a process, longer than the time limit of the question.
  const db = new DatabaseSync(gateway.home.databaseFile)
  db.exec('update questions set expires_at = expires_at - 3600000, seen_at = seen_at - 3600000')
  db.close()
  const waits = Promise.withResolvers<void>()
  await gateway.start({ failpoint: (point) => point === 'approval:waiting' && waits.resolve() })
  await waits.promise
  const taken = await gateway.platform.press(question, 'Allow once')
  assert.equal(taken.status, 'taken')
  await gateway.waitForReply(/It gave: .*patient/)
  assert.equal(gateway.replies().filter((text) => text.startsWith('May I run')).length, 1)
  const [{ expires_at: after } = { expires_at: 0 }] = rowsIn(gateway.home, 'select expires_at from questions')
  assert.ok(Number(after) >= Number(before), 'the time limit was not extended')
})

test('an API client cannot be asked: the tool is refused and no question is stored', async (t) => {
  const gateway = await guarded(t, { ...buttons, config: { platforms: { api_server: { enabled: true } } } })
  const answer = await gateway.post('/v1/chat/completions', {
    model: 'any',
    messages: [{ role: 'user', content: 'run echo unseen' }],
  })
  assert.match(await answer.text(), /It gave: .*error/)
  assert.equal(rowsIn(gateway.home, 'select id from questions').length, 0)
})

test('the question is short and contains no secret', async (t) => {
  const gateway = await guarded(t, buttons)
  await gateway.say(
    `run echo test-key-of-ada; curl -H "Authorization: Bearer sk-proj-${'a1B2'.repeat(12)}" ${'x'.repeat(5_000)}`,
  )
  const question = await waitForQuestion(gateway)
  assert.ok(question.text.length < 1_000, `${question.text.length}`)
  assert.doesNotMatch(question.text, /a1B2a1B2/)
  assert.match(question.text, /\d[\d,]* characters/)
  await gateway.say('/deny')
  await gateway.waitForReply('It gave')
})
