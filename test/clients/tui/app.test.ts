import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { HermesError } from '../../../src/lib/errors.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { hostileTexts } from './hostile-texts.ts'
import { openApp, type StoredSession } from './open-app.ts'

const { signal } = new AbortController()
const ctrl = (letter: string) => String.fromCharCode(letter.charCodeAt(0) - 96)
const esc = '\u001b'
const down = '\u001b[B'
const buttons = [
  { id: 'once', label: 'Allow once' },
  { id: 'deny', label: 'Deny' },
]

test('the first frame is painted before a gateway is reached, and what is written meanwhile is sent', async (t) => {
  const gateway = Promise.withResolvers<void>()
  const {
    terminal,
    url,
    gateway: recorded,
  } = await openApp(t, {
    connect: async () => {
      await gateway.promise
      return { url, token: 'test-token-of-sufficient-length', model: 'late', degraded: ['No disk.'], plugins: [] }
    },
  })
  assert.match(await terminal.until(/starting/), /Hermes 1\.2\.3/)
  terminal.type('hello\r')
  await terminal.until(/when the gateway has started/)
  const asked = recorded.nextEvent()
  gateway.resolve()
  assert.equal((await asked).event.text, 'hello')
  await terminal.until(/● late/)
  assert.match(await terminal.until(/› hello/), /· No disk\./)
})

test('an answer grows, tools are lines of their own, and Ctrl-T shows all of them', async (t) => {
  const { terminal, target, adapter, gateway, ask } = await openApp(t, { columns: 60 })
  const { seq } = await ask('what is here?')
  const send = (text: string, kind: 'draft' | 'reply') =>
    adapter.send({ deliveryId: 'd', target, text, kind, turnId: 't' }, signal)
  await send('Let me', 'draft')
  await terminal.until(/ {2}Let me$/m)
  assert.match(await terminal.until(/Working/), /Ctrl-C stops/)
  await send('Let me **look**.', 'reply')
  const call = { turnId: 't', callId: 'c', tool: 'terminal' }
  adapter.activity?.(target, { kind: 'tool-started', ...call, label: `ls ${'long '.repeat(20)}end` })
  await terminal.until(/… terminal ls/)
  adapter.activity?.(target, { kind: 'tool-ended', ...call, ok: true, summary: '3 files' })
  await terminal.until(/✓ terminal ls/)
  assert.doesNotMatch((await terminal.screen()).join('\n'), /3 files/)
  terminal.type(ctrl('t'))
  await terminal.until(/long end\n +3 files/)
  gateway.completeTurn(seq, { text: 'Three files.', usage: { inputTokens: 1_500, outputTokens: 20, cost: 0.25 } })
  const end = await terminal.until(/Three files\./)
  assert.match(await terminal.until(/1\.5k in 20 out \$0\.25/), /Let me look\./)
  assert.doesNotMatch(end, /Working/)
})

test('an approval is a dialog: a number answers it', async (t) => {
  const { terminal, target, adapter, gateway, ask, pass } = await openApp(t)
  await ask('clean up')
  await adapter.send({ deliveryId: 'q', target, text: 'Run `rm -r build`?', kind: 'notice', buttons }, signal)
  const frame = await terminal.until(/1 {2}Allow once/)
  assert.match(frame, /Run `rm -r build`\?/)
  assert.match(frame, /2 {2}Deny/)
  terminal.type('2')
  assert.deepEqual(gateway.presses, [], 'a key that arrives with the dialog was not meant for it')
  pass(1_000)
  terminal.type('2')
  await terminal.until(/· →/)
  assert.deepEqual(
    gateway.presses.map(({ buttonId, messageId }) => [buttonId, messageId]),
    [['deny', 'q']],
  )
})

test('the arrow keys and Enter choose, and an answer in own words is sent as a message', async (t) => {
  const { terminal, target, adapter, gateway, ask, pass } = await openApp(t)
  await ask('which one?')
  const other = { id: 'text', label: 'Something else', isText: true as const }
  await adapter.send({ deliveryId: 'q', target, text: 'Which?', kind: 'notice', buttons: [...buttons, other] }, signal)
  await terminal.until(/Allow once/)
  pass(1_000)
  terminal.type(down)
  terminal.type('\r')
  await terminal.until(/· →/)
  assert.deepEqual(
    gateway.presses.map(({ buttonId }) => buttonId),
    ['deny'],
  )
  await adapter.send(
    { deliveryId: 'q2', target, text: 'And?', kind: 'notice', buttons: [{ ...other, id: 'x' }] },
    signal,
  )
  await terminal.until(/And\?/)
  pass(1_000)
  const asked = gateway.nextEvent()
  terminal.type('the 3rd one\r')
  assert.equal((await asked).event.text, 'the 3rd one')
})

test('a question does not take the keys of a message that is being written, and Esc leaves it for later', async (t) => {
  const { terminal, target, adapter, gateway, ask, pass } = await openApp(t)
  await ask('go')
  terminal.type('I am wri')
  await terminal.until(/I am wri/)
  await adapter.send({ deliveryId: 'q', target, text: 'Run it?', kind: 'notice', buttons }, signal)
  await terminal.until(/Waits for your answer/)
  terminal.type('1')
  assert.doesNotMatch(await terminal.until(/I am wri1/), /Allow once/)
  terminal.type(ctrl('q'))
  await terminal.until(/Allow once/)
  terminal.type(esc)
  await terminal.until(/^(?![\s\S]*Allow once)/)
  assert.deepEqual(gateway.presses, [])
  terminal.type(ctrl('q'))
  await terminal.until(/Allow once/)
  pass(1_000)
  terminal.type('1')
  await terminal.until(/· →/)
  assert.deepEqual(
    gateway.presses.map(({ buttonId }) => buttonId),
    ['once'],
  )
})

test('an answer of another client closes the dialog', async (t) => {
  const { terminal, target, adapter, ask } = await openApp(t)
  await ask('go')
  await adapter.send({ deliveryId: 'q', target, text: 'Run it?', kind: 'notice', buttons }, signal)
  await terminal.until(/Allow once/)
  await adapter.edit?.(
    'q',
    { deliveryId: 'q', target, text: 'Run it?\n\n**Denied by Ada**', kind: 'notice' },
    true,
    signal,
  )
  assert.doesNotMatch(await terminal.until(/→ Denied by Ada/), /1 {2}Allow once/)
})

test('the turn of a conversation that was left goes on, and its answer is there on return', async (t) => {
  const { terminal, target, adapter, gateway, ask } = await openApp(t)
  const { seq } = await ask('think long')
  terminal.type(ctrl('n'))
  assert.doesNotMatch(await terminal.until(/New conversation/), /think long/)
  await adapter.send({ deliveryId: 'd', target, text: 'The answer is 42.', kind: 'reply', turnId: 't' }, signal)
  gateway.completeTurn(seq, { text: 'The answer is 42.' })
  await terminal.until(/\* 1 unread/)
  terminal.type(ctrl('o'))
  await terminal.until(/\* think long/)
  terminal.type(`${down}`)
  terminal.type('\r')
  const frame = await terminal.until(/The answer is 42\./)
  assert.doesNotMatch(frame, /unread/)
})

test('the list finds stored conversations, and opening one shows what was said', async (t) => {
  const messages: StoredSession['messages'] = [
    { id: '1', role: 'user', text: 'plan the trip' },
    {
      ...{ id: '2', role: 'assistant', text: 'To Rome.' },
      tool_calls: [
        { id: 'c', name: 'web_search', arguments: '{}', state: 'done', label: 'rome', summary: '5 results' },
      ],
    },
  ]
  const { terminal } = await openApp(t, {
    sessions: [
      { id: 's1', chat: 'trip', about: 'Plan the trip', messages },
      { id: 's2', chat: 'tax', about: 'Taxes' },
    ],
  })
  await terminal.until(/● test-model/)
  terminal.type(ctrl('o'))
  assert.match(await terminal.until(/Taxes +2 h/), /Plan the trip/)
  for (const key of 'trip') terminal.type(key)
  await terminal.until(/^(?![\s\S]*Taxes)/)
  terminal.type('\r')
  await terminal.until(/✓ web_search rome · 5 results/)
  assert.match(await terminal.until(/› plan the trip/), /To Rome\./)
})

test('the conversation that the gateway had to find is shown with what was said in it', async (t) => {
  const messages: StoredSession['messages'] = [{ id: '1', role: 'assistant', text: 'To Rome.' }]
  const sessions = [{ id: 's1', chat: 'trip', about: 'Plan the trip', messages }]
  const { terminal, gateway } = await openApp(t, { sessions, continued: 'trip' })
  assert.match(await terminal.until(/To Rome\./), /^Plan the trip/)
  const asked = gateway.nextEvent()
  terminal.type('when?\r')
  assert.equal((await asked).event.source.chatId, 'trip')
})

test('Ctrl-C stops the turn; when nothing runs it clears the message, and then it leaves', async (t) => {
  const { terminal, gateway, ask, app } = await openApp(t)
  const { seq } = await ask('count')
  await terminal.until(/Working/)
  terminal.type(ctrl('c'))
  await terminal.until(/Stopping/)
  gateway.completeTurn(seq, { status: 'stopped', text: '' })
  await terminal.until(/Stopped\./)
  assert.deepEqual(gateway.stopped, [seq])
  terminal.type('draft')
  await terminal.until(/draft/)
  terminal.type(ctrl('c'))
  await terminal.until(/^(?![\s\S]*draft)/)
  terminal.type(ctrl('c'))
  await terminal.until(/again to leave/)
  terminal.type(ctrl('c'))
  assert.deepEqual(await app.done, { chat: 'chat-1', isUsed: true })
  assert.equal(terminal.isStarted, false)
  assert.ok(terminal.written().trimEnd().endsWith('\u001b[?2026l') || terminal.written().includes('\u001b[?1049l'))
})

test('/new with a name opens another conversation, which gets the name', async (t) => {
  const { terminal, gateway, ask } = await openApp(t)
  await ask('hello')
  const asked = gateway.nextEvent()
  terminal.type('/new Trip\r')
  const { event } = await asked
  assert.deepEqual([event.text, event.source.chatId], ['/new Trip', 'chat-2'])
  assert.doesNotMatch(await terminal.until(/› \/new Trip/), /› hello/)
})

test('Ctrl-D and /exit leave', async (t) => {
  const first = await openApp(t)
  await first.terminal.until(/● test-model/)
  first.terminal.type(ctrl('d'))
  assert.deepEqual(await first.app.done, { chat: 'chat-1', isUsed: false })
  const second = await openApp(t)
  await second.terminal.until(/● test-model/)
  second.terminal.type('/exit\r')
  await second.app.done
})

test('a long paste is one short mark, and is sent whole', async (t) => {
  const { terminal, ask } = await openApp(t)
  await terminal.until(/● test-model/)
  const lines = Array.from({ length: 240 }, (_, index) => `line ${index}`).join('\n')
  terminal.type(`\u001b[200~${lines}\u001b[201~`)
  await terminal.until(/\[paste #1 \+240 lines\]/)
  const { event } = await ask(' what is this?')
  assert.equal(event.text, `${lines} what is this?`)
  assert.match(await terminal.until(/… 228 lines more/), /› line 0$/m)
})

test('a paste of 5 MB is refused with a way to send it', async (t) => {
  const { terminal, gateway } = await openApp(t)
  await terminal.until(/● test-model/)
  terminal.type(`\u001b[200~${'x'.repeat(5_000_000)}\u001b[201~`)
  await terminal.until(/5\.0 million characters are too many[\s\S]*@path/)
  terminal.type('\r')
  await terminal.until(/\/help/)
  assert.equal(gateway.ingestedEvents.length, 0)
})

test('commands and files are completed', async (t) => {
  const directory = tempHome(t)
  mkdirSync(join(directory, 'src'))
  writeFileSync(join(directory, 'src', 'main file.ts'), '')
  writeFileSync(join(directory, `evil${esc}[2J.ts`), '')
  const { terminal, gateway } = await openApp(t, { directory })
  await terminal.until(/● test-model/)
  for (const key of '/stat') terminal.type(key)
  await terminal.until(/status +Show what runs/)
  terminal.type('\t')
  await terminal.until(/^\/status *$/m)
  terminal.type(ctrl('u'))
  for (const key of 'read @main') terminal.type(key)
  await terminal.until(/→ src\/main file\.ts/)
  terminal.type('\t')
  await terminal.until(/read @"src\/main file\.ts"/)
  const asked = gateway.nextEvent()
  terminal.type('\r')
  assert.equal((await asked).event.text, 'read @"src/main file.ts"')
  for (const key of '@') terminal.type(key)
  assert.doesNotMatch(await terminal.until(/→ src\//), /evil/)
})

test('a picture is attached by its path, and a path without a file is an error', async (t) => {
  const { terminal } = await openApp(t)
  await terminal.until(/● test-model/)
  terminal.type('/image /no/such.png\r')
  await terminal.until(/The picture \/no\/such\.png cannot be read/)
})

test('texts of the agent and of tools cannot make the terminal do anything', async (t) => {
  const { terminal, target, adapter, gateway, ask } = await openApp(t, { rows: 60 })
  for (const [index, text] of hostileTexts.entries()) {
    const { seq } = await ask(`attack ${index}`)
    const call = { turnId: 't', callId: 'c', tool: text }
    adapter.activity?.(target, { kind: 'tool-started', ...call, label: text })
    adapter.activity?.(target, { kind: 'tool-ended', ...call, ok: true, summary: text })
    await adapter.send({ deliveryId: `d${index}`, target, text, kind: 'reply', turnId: 't' }, signal)
    await adapter.send({ deliveryId: `n${index}`, target, text: `n ${text}`, kind: 'notice' }, signal)
    gateway.completeTurn(seq, { text })
    await terminal.until(/^(?![\s\S]*Working)/)
  }
  await adapter.send({ deliveryId: 'q', target, text: hostileTexts.join('\n'), kind: 'notice', buttons }, signal)
  const frame = await terminal.until(/Allow once/)
  assert.deepEqual(terminal.obeyed, [])
  assert.match(frame, /● test-model/, 'the frame is whole')
})

test('the interface works at 20 columns, with 6 rows, and after the window was resized', async (t) => {
  const { terminal, target, adapter, gateway, ask } = await openApp(t, { columns: 20, rows: 6 })
  const { seq } = await ask('hi')
  const text = 'A **long** answer: 世界世界世界世界 👩‍👩‍👧'
  await adapter.send({ deliveryId: 'd', target, text, kind: 'reply', turnId: 't' }, signal)
  gateway.completeTurn(seq, { text })
  await terminal.until(/世界世界世界世界/)
  terminal.resize(100, 20)
  await terminal.until(/A long answer: 世界世界世界世界/)
  terminal.resize(3, 2)
  terminal.resize(20, 10)
  await terminal.until(/› hi/)
})

test('help shows the keys and the commands of the gateway', async (t) => {
  const { terminal } = await openApp(t, { rows: 60 })
  await terminal.until(/● test-model/)
  terminal.type('/help\r')
  const frame = await terminal.until(/Keys and commands/)
  assert.match(frame, /Ctrl-O +switch between conversations/)
  assert.match(frame, /\/status +Show what runs/)
  terminal.type(esc)
  await terminal.until(/^(?![\s\S]*Keys and commands)/)
})

test('a lost connection is shown until it is back', async (t) => {
  const { terminal, adapter, createAnother, breakConnections } = await openApp(t)
  await terminal.until(/● test-model/)
  breakConnections(true)
  await adapter.disconnect()
  await terminal.until(/! connection lost, reconnecting/)
  await createAnother().connect(signal)
  breakConnections(false)
  await terminal.until(/● test-model/)
})

test('without a gateway the interface ends with the reason', async (t) => {
  const refused = Promise.withResolvers<never>()
  const { app, terminal } = await openApp(t, { connect: () => refused.promise })
  // What waits for the gateway must not end the process.
  terminal.type(`${ctrl('n')}hello\r`)
  await terminal.until(/when the gateway has started/)
  refused.reject(new HermesError('home/locked'))
  await assert.rejects(app.done, { code: 'home/locked' })
  assert.equal(terminal.isStarted, false)
})
