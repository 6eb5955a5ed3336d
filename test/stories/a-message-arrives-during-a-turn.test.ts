import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AuditedEvent, auditInbox } from '../../src/inbox/audit.ts'
import type { HomeLayout } from '../../src/lib/home.ts'
import { openStore } from '../kit/open-store.ts'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { conversation, hasResult, isAlive, rowsIn, runCommand, terminalCall } from './support.ts'

const silentModel: ModelReply = { hang: 'headers' }

function startWith(t: TestContext, display: Readonly<Record<string, unknown>>, options: TestGatewayOptions = {}) {
  return startTestGateway(t, { ...options, config: { display, ...options.config } })
}

/** The model answers the first message when `held` resolves. */
async function startHeld(t: TestContext, display: Readonly<Record<string, unknown>>) {
  const held = Promise.withResolvers<void>()
  const gateway = await startWith(t, display, { replies: [{ text: 'done', gate: () => held.promise }] })
  return { gateway, held }
}

/** How each message ended, after the gateway has stopped. */
async function auditOf(t: TestContext, gateway: TestGateway): Promise<readonly AuditedEvent[]> {
  await gateway.stop()
  return await readAudit(t, gateway.home)
}

async function readAudit(t: TestContext, home: HomeLayout): Promise<readonly AuditedEvent[]> {
  return await openStore(t, home.databaseFile).store.run(() => auditInbox(0, 1_000))
}

function turnStates(gateway: TestGateway) {
  return rowsIn(gateway.home, 'select state from turns order by id').map(({ state }) => state)
}

test('a new message ends a turn whose model is silent, and is answered next', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'interrupt' }, { replies: [silentModel] })
  await gateway.say('first')
  const request = await gateway.modelRequest(0)
  await gateway.say('second')
  await gateway.waitForReply('second')
  assert.equal(await request.closed, true)
  assert.deepEqual(turnStates(gateway), ['interrupted', 'done'])
  // The next turn sees what the first one was about.
  assert.match(conversation(await gateway.modelRequest(1)).join('\n'), /user: first\n.*interrupted.*\nuser: second/)
  const audit = await auditOf(t, gateway)
  assert.deepEqual(
    audit.map(({ ending, finally: final }) => [ending, final]),
    [
      ['absorbed', 'answered'],
      ['answered', 'answered'],
    ],
  )
})

test('two messages that the platform delivers together: the second one ends the turn of the first', async (t) => {
  const gateway = await startWith(
    t,
    { busy_input_mode: 'interrupt' },
    { model: ({ lastUserText }) => (lastUserText === 'first' ? silentModel : { text: `answer to ${lastUserText}` }) },
  )
  // Loads the code that is needed, so that nothing delays the second message.
  await gateway.say('first', { chat: 'earlier' })
  await gateway.modelRequest(0)
  await gateway.say('second', { chat: 'earlier' })
  await gateway.waitForReply('answer to second', 'earlier')
  for (const chat of ['a', 'b', 'c']) {
    // The adapter fetches the next two together while it handles this one.
    const together = [gateway.say('hello', { chat: 'other' }), gateway.say('first', { chat })]
    await Promise.all([...together, gateway.say('second', { chat })])
    await gateway.waitForReply('answer to second', chat)
  }
})

test('what an interrupted turn has said stays in the conversation, and its draft is completed', async (t) => {
  const gateway = await startWith(
    t,
    { busy_input_mode: 'interrupt' },
    {
      replies: [{ text: 'one two three four five six', hang: 'stream', hangAfter: 4 }],
      capabilities: ['edit'],
      config: { streaming: { enabled: true, buffer_threshold: 1, edit_interval: 0.01 } },
    },
  )
  await gateway.say('count')
  await gateway.until(({ text }) => text.includes('one'))
  await gateway.say('stop counting')
  await gateway.waitForReply('stop counting')
  await gateway.waitForReply(/one.*\(interrupted\)/s)
  const messages = conversation(await gateway.modelRequest(1))
  assert.match(messages[1] ?? '', /^assistant: one.*\[interrupted by the next message of the user\]$/s)
})

test('a command of a tool ends with the turn that a new message interrupts', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'interrupt' }, { startNow: false })
  const pipe = join(gateway.home.root, 'pid')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`sleep 60 & echo $! > '${pipe}'; wait`))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('sleep a minute')
  const pid = Number(await readFile(pipe, 'utf8'))
  await gateway.say('never mind')
  await gateway.waitForReply('never mind')
  assert.ok(!isAlive(pid), 'the command still runs')
  const audit = await auditOf(t, gateway)
  assert.deepEqual(
    audit.map(({ finally: final }) => final),
    ['answered', 'answered'],
  )
})

test('in the mode queue each message gets a turn of its own, in order', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'queue', busy_ack_enabled: true })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  await gateway.say('third')
  held.resolve()
  await gateway.waitForReply('third')
  const texts = gateway.replies().filter((text) => !text.startsWith('⏳'))
  assert.deepEqual(
    texts.map((text) => /done|second|third/.exec(text)?.[0]),
    ['done', 'second', 'third'],
  )
  assert.deepEqual(turnStates(gateway), ['done', 'done', 'done'])
  // A burst is acknowledged once.
  assert.equal(gateway.replies().filter((text) => text.startsWith('⏳')).length, 1)
})

test('in the mode collect all messages that wait become one turn', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'collect' })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  await gateway.say('third')
  held.resolve()
  await gateway.waitForReply('third')
  assert.deepEqual(conversation(await gateway.modelRequest(1)).at(-1), 'user: second\nthird')
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
  const audit = await auditOf(t, gateway)
  assert.deepEqual(
    audit.map(({ ending, finally: final }) => [ending, final]),
    [
      ['answered', 'answered'],
      ['answered', 'answered'],
      ['absorbed', 'answered'],
    ],
  )
  assert.equal(audit[1]?.turnId, audit[2]?.turnId)
})

test('in the mode steer a message reaches the model after the tool that runs', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'steer' }, { startNow: false })
  const pipe = join(gateway.home.root, 'go')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`echo ready > '${pipe}'; cat '${pipe}'`))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(pipe, 'utf8')
  await gateway.say('in blue, please')
  execFileSync('sh', ['-c', `echo go > '${pipe}'`])
  await gateway.waitForReply('in blue, please')
  const messages = conversation(await gateway.modelRequest(1))
  assert.deepEqual(
    messages.map((text) => text.split(':')[0]),
    ['user', 'assistant', 'tool', 'user'],
  )
  assert.match(messages.at(-1) ?? '', /"user_id":"[^"]+".*in blue, please$/s)
  assert.deepEqual(turnStates(gateway), ['done'])
  await gateway.say('and now')
  await gateway.waitForReply('and now')
  const later = conversation(await gateway.modelRequest(2))
  assert.equal(later.filter((text) => /^user:.*in blue, please/s.test(text)).length, 1, 'it stands in the history once')
  const audit = await auditOf(t, gateway)
  assert.deepEqual(
    audit.map(({ ending }) => ending),
    ['answered', 'absorbed', 'answered'],
  )
})

test('/retry answers a failed turn again with what was steered into it', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'steer' }, { startNow: false })
  const pipe = join(gateway.home.root, 'go')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`echo ready > '${pipe}'; cat '${pipe}'`), { error: { status: 400 } })
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(pipe, 'utf8')
  await gateway.say('in blue, please')
  execFileSync('sh', ['-c', `echo go > '${pipe}'`])
  await gateway.waitForReply(/provider\//)
  await runCommand(gateway, '/retry')
  assert.deepEqual(conversation(await gateway.modelRequest(2)), ['user: work\nin blue, please'])
})

test('long messages that do not fit after one tool are read after the next one', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'steer' }, { startNow: false })
  const pipe = join(gateway.home.root, 'go')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`echo ready > '${pipe}'; cat '${pipe}'`), terminalCall('echo again'))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(pipe, 'utf8')
  await gateway.say(`first ${'x'.repeat(40_000)}`)
  await gateway.say(`second ${'y'.repeat(40_000)}`)
  execFileSync('sh', ['-c', `echo go > '${pipe}'`])
  await gateway.waitForReply('second')
  const inTurn = conversation(await gateway.modelRequest(1)).join('')
  assert.deepEqual([inTurn.includes('first x'), inTurn.includes('second y')], [true, false])
  assert.ok(
    conversation(await gateway.modelRequest(2))
      .at(-1)
      ?.includes('second y'),
  )
  assert.deepEqual(turnStates(gateway), ['done'])
})

test('a message that waits to be steered reaches its turn also after a restart', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'steer' }, { replies: [silentModel] })
  await gateway.say('work')
  await gateway.modelRequest(0)
  await gateway.say('in blue, please')
  await gateway.stop(AbortSignal.abort())
  gateway.model.enqueue(terminalCall('echo done'))
  await gateway.start()
  await gateway.waitForReply('in blue, please')
  assert.match(conversation(await gateway.modelRequest(2)).at(-1) ?? '', /in blue, please$/)
  assert.deepEqual(turnStates(gateway), ['done'])
})

test('what joins a steered message joins no message that /queue has put off', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'steer' }, { startNow: false })
  const pipe = join(gateway.home.root, 'go')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`echo ready > '${pipe}'; cat '${pipe}'`))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(pipe, 'utf8')
  await runCommand(gateway, '/queue later')
  await gateway.say('in blue')
  await runCommand(gateway, '/busy collect')
  await gateway.say('in a group')
  execFileSync('sh', ['-c', `echo go > '${pipe}'`])
  await gateway.waitForReply('in a group')
  assert.deepEqual(turnStates(gateway), ['done', 'done', 'done'])
})

test('a message that is steered into a turn without further tools becomes the next turn', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'steer' })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  held.resolve()
  await gateway.waitForReply('second')
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
})

test('a message of another person neither ends nor joins the turn of a person', async (t) => {
  for (const mode of ['interrupt', 'collect', 'steer']) {
    const held = Promise.withResolvers<void>()
    const gateway = await startWith(
      t,
      { busy_input_mode: mode, busy_text_debounce_seconds: 0 },
      { replies: [{ text: 'done', gate: () => held.promise }], config: { group_sessions_per_user: false } },
    )
    const inGroup = { chat: 'g', chatType: 'group' } as const
    await gateway.say('of Ada', { ...inGroup, user: 'ada' })
    await gateway.modelRequest(0)
    await gateway.say('of Bob', { ...inGroup, user: 'bob' })
    await gateway.say('of Cleo', { ...inGroup, user: 'cleo' })
    held.resolve()
    await gateway.until(({ text }) => text.includes('of Cleo'))
    assert.deepEqual(turnStates(gateway), ['done', 'done', 'done'], mode)
    await gateway.stop()
  }
})

test('messages beyond the limit of a queue are refused with one notice, and all others are answered', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'queue', busy_queue_limit: 3 })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await Promise.all(Array.from({ length: 20 }, (_, index) => gateway.say(`more ${index}`)))
  await gateway.say('elsewhere', { chat: 'other' })
  await gateway.waitForReply('elsewhere', 'other')
  const notice = await gateway.until(({ key }) => key.startsWith('refused:'))
  assert.match(notice.text, /17 messages/)
  held.resolve()
  await gateway.until(({ text }) => text.includes('more'))
  const audit = await auditOf(t, gateway)
  assert.equal(audit.filter(({ ending }) => ending === 'failed').length, 17)
  assert.equal(gateway.platform.shown().filter(({ key }) => key.startsWith('refused:')).length, 1)
})

test('in a conversation of several people, the burst of one takes no room from the others', async (t) => {
  const gateway = await startWith(
    t,
    { busy_input_mode: 'interrupt', busy_queue_limit: 3, busy_text_debounce_seconds: 0 },
    { replies: [silentModel], config: { group_sessions_per_user: false, roles: { owners: ['fake:boss'] } } },
  )
  const room = { chat: 'room', chatType: 'group' } as const
  await gateway.say('first', { ...room, user: 'boss' })
  await gateway.modelRequest(0)
  for (let index = 0; index < 5; index += 1) await gateway.say(`more ${index}`, { ...room, user: 'mia' })
  // An owner ends the own turn even with a full queue.
  for (const text of ['a', 'b', 'c']) await runCommand(gateway, `/queue ${text}`, { ...room, user: 'boss' })
  await gateway.say('instead', { ...room, user: 'boss' })
  await gateway.waitForReply('instead', 'room')
  const notice = await gateway.until(({ key }) => key.startsWith('refused:'))
  assert.match(notice.text, /mia, .* last 2 messages/)
  const audit = await auditOf(t, gateway)
  assert.equal(audit.filter(({ ending }) => ending === 'failed').length, 2)
})

test('/queue beyond the limit is refused with the notice of the burst, and has no reply of its own', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'interrupt', busy_queue_limit: 1 }, { replies: [silentModel] })
  await gateway.say('first')
  await gateway.modelRequest(0)
  assert.match(await runCommand(gateway, '/queue second'), /Queued/)
  await Promise.all(Array.from({ length: 10 }, (_, index) => gateway.say(`/queue more ${index}`)))
  const refused = new Map<string, number>()
  await gateway.until(({ key, text }) => {
    if (key.startsWith('refused:')) refused.set(key, Number(/last (\d+) messages/.exec(text)?.[1] ?? 1))
    return [...refused.values()].reduce((sum, count) => sum + count, 0) === 10
  })
  assert.equal(gateway.platform.shown().filter(({ key }) => key.startsWith('command:')).length, 1)
  const audit = await auditOf(t, gateway)
  assert.equal(audit.filter(({ ending }) => ending === 'failed').length, 10)
})

test('a refusal that no notice has announced before a restart is announced afterwards', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'queue', busy_queue_limit: 1 }, { replies: [silentModel] })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  await gateway.say('third')
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  const notice = await gateway.until(({ key }) => key.startsWith('refused:'))
  assert.match(notice.text, /your last message/)
})

test('/queue takes a message after the turn, also where messages interrupt, and answers at once when idle', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'interrupt' })
  await gateway.say('first')
  await gateway.modelRequest(0)
  assert.match(await runCommand(gateway, '/queue second — later'), /Queued/)
  held.resolve()
  // The text arrives as typed, and not as a command.
  await gateway.waitForReply('second — later')
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
  await gateway.say('/q /status')
  await gateway.waitForReply('You said: /status')
  assert.match(await runCommand(gateway, '/queue'), /Write/)
})

test('/steer reaches the running turn, also where messages are queued', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'queue' }, { startNow: false })
  const pipe = join(gateway.home.root, 'go')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`echo ready > '${pipe}'; cat '${pipe}'`))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(pipe, 'utf8')
  await runCommand(gateway, '/steer in blue')
  execFileSync('sh', ['-c', `echo go > '${pipe}'`])
  await gateway.waitForReply('in blue')
  assert.deepEqual(turnStates(gateway), ['done'])
})

test('/steer overtakes a message that /queue has put off', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'interrupt' }, { startNow: false })
  const pipe = join(gateway.home.root, 'go')
  execFileSync('mkfifo', [pipe])
  gateway.model.enqueue(terminalCall(`echo ready > '${pipe}'; cat '${pipe}'`))
  await (await gateway.start()).initialConnectsDone()
  await gateway.say('work')
  await readFile(pipe, 'utf8')
  await runCommand(gateway, '/queue later')
  assert.match(await runCommand(gateway, '/steer in blue'), /after the current step/)
  execFileSync('sh', ['-c', `echo go > '${pipe}'`])
  await gateway.waitForReply('later')
  assert.match(conversation(await gateway.modelRequest(1)).at(-1) ?? '', /in blue$/)
  assert.equal(conversation(await gateway.modelRequest(2)).at(-1), 'user: later')
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
})

test('a text that interrupts keeps its place behind a message that waits, and its sender learns it', async (t) => {
  const gateway = await startWith(
    t,
    { busy_input_mode: 'interrupt', busy_ack_enabled: true },
    { replies: [silentModel] },
  )
  await gateway.say('first')
  await gateway.modelRequest(0)
  await runCommand(gateway, '/queue second')
  await gateway.say('third')
  const { text } = await gateway.until(({ key }) => key.startsWith('busy:'))
  assert.match(text, /after those that wait/)
  await gateway.waitForReply('You said: third')
  const answers = gateway.replies().filter((reply) => reply.startsWith('You said'))
  assert.deepEqual(answers, ['You said: second', 'You said: third'])
  assert.deepEqual(turnStates(gateway), ['interrupted', 'done', 'done'])
})

test('in the mode steer a text does not overtake the photo that it is about', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'steer', busy_ack_enabled: true })
  await gateway.say('first')
  await gateway.modelRequest(0)
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  await gateway.platform.attach({ kind: 'photo', mimeType: 'image/png', fileName: 'one.png', bytes })
  await gateway.say('what is it?')
  held.resolve()
  await gateway.waitForReply('what is it?')
  assert.ok(!gateway.replies().some((text) => text.startsWith('⏩')))
  assert.deepEqual(
    rowsIn(gateway.home, 'select busy_mode from inbox order by seq').map(({ busy_mode: mode }) => mode),
    [null, 'media', 'queue'],
  )
})

test('the tip about /busy is given once for a conversation, also over a restart', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'interrupt', busy_ack_enabled: true })
  const acknowledged = async (text: string) => {
    const sent = gateway.model.requestCount
    gateway.model.enqueue(silentModel)
    await gateway.say(text)
    await gateway.modelRequest(sent)
    await gateway.say(`${text} again`)
    const { text: shown } = await gateway.until(({ key, text: ack }) => key.startsWith('busy:') && !acks.includes(ack))
    acks.push(shown)
    await gateway.waitForReply(`You said: ${text} again`)
    return shown
  }
  const acks: string[] = []
  assert.match(await acknowledged('one'), /`\/busy queue`/)
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  assert.doesNotMatch(await acknowledged('two'), /\/busy/)
})

test('/busy chooses the mode of one conversation, and a restart keeps the choice', async (t) => {
  const gateway = await startWith(t, { busy_input_mode: 'queue' })
  assert.match(await runCommand(gateway, '/busy'), /\*\*queue\*\*/)
  assert.match(await runCommand(gateway, '/busy sideways'), /There is no mode/)
  assert.match(await runCommand(gateway, '/busy interrupt'), /\*\*interrupt\*\*/)
  await gateway.stop()
  await (await gateway.start()).initialConnectsDone()
  gateway.model.enqueue(silentModel)
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('second')
  await gateway.waitForReply('second')
  assert.deepEqual(turnStates(gateway), ['interrupted', 'done'])
  assert.match(await runCommand(gateway, '/busy default'), /\*\*queue\*\*/)
})

test('an edit and a deletion change a message that /queue has put off', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'interrupt' })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await runCommand(gateway, '/queue secnd', { id: 'm2' })
  await runCommand(gateway, '/queue third', { id: 'm3' })
  await gateway.platform.edit('m2', '/queue second', {})
  await gateway.platform.remove('m3', {})
  held.resolve()
  await gateway.waitForReply('You said: second')
  await gateway.stop()
  const texts = gateway.replies()
  assert.ok(!texts.some((text) => text.includes('secnd') || text.includes('You said: third')), JSON.stringify(texts))
})

test('texts of one person that follow each other at once become one turn where that is configured', async (t) => {
  const { gateway, held } = await startHeld(t, {
    busy_input_mode: 'queue',
    busy_text_debounce_seconds: 5,
    busy_text_hard_cap_seconds: 0.5,
  })
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.say('one')
  await gateway.say('two')
  held.resolve()
  await gateway.waitForReply('two')
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
  assert.equal(conversation(await gateway.modelRequest(1)).at(-1), 'user: one\ntwo')
})

test('texts of two people that follow each other at once keep their order, and only those of one person are merged', async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startWith(
    t,
    { busy_input_mode: 'queue', busy_text_debounce_seconds: 5, busy_text_hard_cap_seconds: 0.3 },
    { replies: [{ text: 'done', gate: () => held.promise }], config: { group_sessions_per_user: false } },
  )
  const say = (user: string, text: string) => gateway.say(text, { chat: 'g', chatType: 'group', user })
  await say('ada', 'first')
  await gateway.modelRequest(0)
  await say('ada', 'a1')
  await say('bob', 'b1')
  await say('ada', 'a2')
  await say('ada', 'a3')
  held.resolve()
  await gateway.until(({ text }) => text.includes('a3'))
  const asked = conversation(await gateway.modelRequest(3)).filter((text) => text.startsWith('user'))
  assert.deepEqual(
    asked.map((text) => text.match(/[ab]\d/g)),
    [null, ['a1'], ['b1'], ['a2', 'a3']],
  )
})

test('the API queues whatever the mode is', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'interrupt' })
  const ask = (content: string) =>
    gateway.post('/v1/chat/completions', { messages: [{ role: 'user', content }] }, { 'x-hermes-session-id': 's1' })
  const first = ask('first')
  await gateway.modelRequest(0)
  const second = ask('second')
  await gateway.waitForLogLine(2, { event: 'inbox.accepted' })
  held.resolve()
  assert.deepEqual([(await first).status, (await second).status], [200, 200])
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
})

test('a turn with sub-agents is not interrupted: the message waits', async (t) => {
  const held = Promise.withResolvers<void>()
  const isChild = (request: RecordedRequest) => conversation(request)[0]?.startsWith('user: look around') === true
  const gateway = await startWith(
    t,
    { busy_input_mode: 'interrupt', busy_ack_enabled: true },
    {
      model: (request) => {
        if (isChild(request)) return { text: 'found it', gate: () => held.promise }
        if (request.lastUserText === 'delegate' && !hasResult(request))
          return { toolCalls: [{ name: 'delegate_task', arguments: { goal: 'look around', context: '' } }] }
        return { text: `answer to ${request.lastUserText}` }
      },
    },
  )
  await gateway.say('delegate')
  await gateway.modelRequest(1)
  await gateway.say('and now?')
  await gateway.until(({ key }) => key.startsWith('busy:'))
  held.resolve()
  await gateway.waitForReply('answer to and now?')
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
})

test('photos that arrive during a turn interrupt nothing and become one turn with their captions', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'interrupt' })
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  const photo = { kind: 'photo', mimeType: 'image/png', bytes } as const
  await gateway.say('first')
  await gateway.modelRequest(0)
  await gateway.platform.attach({ ...photo, fileName: 'one.png' })
  await gateway.platform.attach({ ...photo, fileName: 'two.png' })
  held.resolve()
  await gateway.waitForReply(/one\.png.*two\.png/s)
  assert.deepEqual(turnStates(gateway), ['done', 'done'])
})

test('a photo whose first companion was deleted joins no other message', async (t) => {
  const { gateway, held } = await startHeld(t, { busy_input_mode: 'interrupt' })
  const bytes = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  const photo = { kind: 'photo', mimeType: 'image/png', bytes } as const
  await gateway.say('first')
  await gateway.modelRequest(0)
  await runCommand(gateway, '/queue later')
  await gateway.platform.attach({ ...photo, fileName: 'one.png' }, { id: 'm1' })
  await gateway.platform.attach({ ...photo, fileName: 'two.png' })
  await gateway.platform.attach({ ...photo, fileName: 'three.png' })
  await gateway.platform.remove('m1')
  held.resolve()
  await gateway.waitForReply(/two\.png.*three\.png/s)
  assert.equal(conversation(await gateway.modelRequest(1)).at(-1), 'user: later')
  assert.deepEqual(turnStates(gateway), ['done', 'done', 'done'])
})

test('a message that was deleted after it interrupted a turn leaves nothing without an end', async (t) => {
  const held = Promise.withResolvers<void>()
  const gateway = await startWith(
    t,
    { busy_input_mode: 'interrupt' },
    { replies: [silentModel, { text: 'done later', gate: () => held.promise }] },
  )
  await gateway.say('first')
  await gateway.modelRequest(0)
  await runCommand(gateway, '/queue later')
  await gateway.say('second', { id: 'm2' })
  // The message that interrupted waits behind the one that /queue has put off.
  await gateway.modelRequest(1)
  await gateway.platform.remove('m2', {})
  held.resolve()
  await gateway.waitForReply('done later')
  const audit = await auditOf(t, gateway)
  assert.deepEqual(turnStates(gateway), ['interrupted', 'done'])
  assert.deepEqual(
    audit.map(({ ending, finally: final }) => [ending, final]),
    [
      ['silent', 'silent'],
      ['answered', 'answered'],
      ['answered', 'answered'],
      ['silent', 'silent'],
    ],
  )
})
