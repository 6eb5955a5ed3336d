import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { createChatClient } from '../../../src/clients/chat/chat-client.ts'
import { runJson } from '../../../src/clients/chat/chat-json.ts'
import { type InteractiveOptions, runInteractive, runQuery } from '../../../src/clients/chat/chat-screen.ts'
import { errorCatalogue } from '../../../src/lib/error-catalogue.ts'
import { brand } from '../../../src/lib/ids.ts'
import { openTerminal, target, token } from '../../platforms/console/terminal.ts'

const { signal } = new AbortController()

async function connected(t: TestContext) {
  const terminal = await openTerminal()
  t.after(terminal.close)
  await terminal.adapter.connect(signal)
  return terminal
}

/** A stream that is a terminal or not, with all text that was written to it. */
function stream(isTTY: boolean) {
  const pipe = Object.assign(new PassThrough(), { isTTY, columns: 80, setRawMode: () => pipe })
  let text = ''
  let watchers: { pattern: RegExp; resolve: () => void }[] = []
  pipe.on('data', (chunk) => {
    text += String(chunk)
    const met = watchers.filter(({ pattern }) => pattern.test(text))
    watchers = watchers.filter((watcher) => !met.includes(watcher))
    for (const { resolve } of met) resolve()
  })
  return {
    pipe,
    text: () => text,
    /** Resolves when the text so far matches. */
    until: (pattern: RegExp) =>
      pattern.test(text) ? Promise.resolve() : new Promise<void>((resolve) => watchers.push({ pattern, resolve })),
  }
}

/** `hermes chat` on a terminal. `keys` receives what the user types. */
async function chatting(t: TestContext, options: Pick<InteractiveOptions, 'complete' | 'history'> = {}) {
  const terminal = await connected(t)
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => keys })
  const output = stream(true)
  const received = new AbortController()
  const done = runInteractive({
    client: terminal.client,
    input: keys,
    output: output.pipe,
    signal: received.signal,
    sleep: () => new Promise((resolve) => setImmediate(resolve)),
    ...options,
  })
  t.after(async () => {
    received.abort()
    await done
  })
  await output.until(/› /)
  return { ...terminal, keys, output, received, done }
}

test('a query prints only the reply and exits with 0', async (t) => {
  const { client, gateway } = await connected(t)
  const output = stream(false)
  const errors = stream(false)
  const asked = gateway.nextEvent()
  const done = runQuery({ client, query: 'Reply exactly ok', signal, output: output.pipe, errors: errors.pipe })
  const { event, accepted } = await asked
  assert.equal(event.text, 'Reply exactly ok')
  assert.deepEqual(event.metadata, { attended: 'no', notices: 'yes' }, 'no user can answer a question')
  assert.ok(accepted.status === 'accepted')
  gateway.completeTurn(accepted.seq, { text: 'ok' })
  assert.equal(await done, 0)
  assert.equal(output.text(), 'ok\n')
  assert.equal(errors.text(), '')
})

test('a query to a daemon shows on stderr what it waits for, and its failure only once', async (t) => {
  const { client, gateway, adapter } = await connected(t)
  const output = stream(false)
  const errors = stream(false)
  const asked = gateway.nextEvent()
  const done = runQuery({ client, query: 'hi', signal, output: output.pipe, errors: errors.pipe, showNotices: true })
  await asked
  const notice = { target: { ...target, chatId: client.chat }, kind: 'notice' as const }
  await adapter.send({ ...notice, deliveryId: '1', text: 'Sorry.', turnId: brand('turn') }, signal)
  await adapter.send({ ...notice, deliveryId: '2', text: 'The model does not answer.' }, signal)
  await errors.until(/The model does not answer/)
  gateway.completeTurn(1, { status: 'failed', text: 'Sorry.' })
  assert.equal(await done, 1)
  assert.deepEqual([output.text(), errors.text()], ['', 'hermes: The model does not answer.\nSorry.\n'])
})

test('a failed query prints the reason and a hint on stderr', async (t) => {
  const { client, gateway } = await connected(t)
  const output = stream(false)
  const errors = stream(false)
  const asked = gateway.nextEvent()
  const done = runQuery({ client, query: 'hello', signal, output: output.pipe, errors: errors.pipe })
  await asked
  gateway.completeTurn(1, { status: 'failed', text: 'Sorry, I encountered an error.', errorCode: 'provider/auth' })
  assert.equal(await done, 1)
  assert.equal(output.text(), '')
  assert.equal(errors.text(), `Sorry, I encountered an error.\n${errorCatalogue['provider/auth'].hint}\n`)
})

test('a query with --json prints one object, for an answer and for a failure', async (t) => {
  const { client, gateway } = await connected(t)
  const ask = async (end: Parameters<typeof gateway.completeTurn>[1]) => {
    const output = stream(false)
    const asked = gateway.nextEvent()
    const done = runQuery({ client, query: 'hi', signal, output: output.pipe, errors: output.pipe, json: true })
    const { accepted } = await asked
    assert.ok(accepted.status === 'accepted')
    gateway.completeTurn(accepted.seq, end)
    return { code: await done, printed: JSON.parse(output.text()) }
  }
  const answered = await ask({ text: 'a\u001b[2Jb' })
  assert.deepEqual([answered.code, answered.printed.status, answered.printed.text], [0, 'done', 'a\u001b[2Jb'])
  assert.equal(answered.printed.chat, client.chat)
  const failed = await ask({ status: 'failed', text: 'No key.', errorCode: 'provider/auth' })
  assert.equal(failed.code, 1)
  assert.deepEqual(failed.printed.error, { code: 'provider/auth', message: 'No key.' })
})

test('a conversation with --json prints events and results as lines', async (t) => {
  const { client, gateway, adapter } = await connected(t)
  const output = stream(false)
  const input = Object.assign(new PassThrough(), { isTTY: false })
  const done = runJson({ client, files: [], input, output: output.pipe, signal })
  await output.until(/"ready"/)
  const asked = gateway.nextEvent()
  input.write('one\n\ntwo\n')
  const { event } = await asked
  assert.equal(event.metadata?.['attended'], 'no')
  const at = { ...target, chatId: client.chat }
  adapter.activity?.(at, { kind: 'tool-started', turnId: 't', callId: 'c', tool: 'terminal', label: 'ls' })
  await adapter.send({ deliveryId: '1', target: at, text: 'Hello.', kind: 'reply' }, signal)
  await output.until(/Hello/)
  const next = gateway.nextEvent()
  gateway.completeTurn(1, { text: 'Hello.' })
  await next
  gateway.completeTurn(2, { status: 'failed', text: 'No.', errorCode: 'provider/auth' })
  input.end()
  assert.equal(await done, 1)
  const lines = output.text().trimEnd().split('\n')
  const types = lines
    .map((line) => JSON.parse(line))
    .map(({ type, message, state, status }) => [type, message ?? state, status])
  assert.deepEqual(types, [
    ['ready', undefined, undefined],
    ['accepted', 1, undefined],
    ['tool', 'started', undefined],
    ['message', undefined, undefined],
    ['result', 1, 'done'],
    ['accepted', 2, undefined],
    ['result', 2, 'failed'],
  ])
})

test('a query without a daemon exits with the error and its hint', async () => {
  const output = stream(false)
  const errors = stream(false)
  const client = createChatClient({
    url: 'http://127.0.0.1:1',
    token,
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  })
  assert.equal(await runQuery({ client, query: 'hi', signal, output: output.pipe, errors: errors.pipe }), 1)
  assert.match(errors.text(), /hermes gateway run.*\(cli\/no-daemon\)/)
})

test('Ctrl-C during a query stops the turn and exits with 130', async (t) => {
  const { client, gateway } = await connected(t)
  const output = stream(false)
  const errors = stream(false)
  const interrupt = new AbortController()
  const asked = gateway.nextEvent()
  const query = { client, query: 'count to a million', signal: interrupt.signal, output: output.pipe }
  const done = runQuery({ ...query, errors: errors.pipe })
  await asked
  interrupt.abort()
  assert.equal(await done, 130)
  assert.deepEqual(gateway.stopped, [1])
  assert.equal(output.text(), '')
})

test('the lines of a pipe are sent one after another, and the end of the pipe ends the chat', async (t) => {
  const { client, gateway, adapter } = await connected(t)
  const output = stream(false)
  const input = new PassThrough()
  const answering = (async () => {
    for (const text of ['one', 'two']) {
      const { event, accepted } = await gateway.nextEvent()
      assert.ok(accepted.status === 'accepted')
      await adapter.send({ deliveryId: text, target, text: `you said ${event.text}`, kind: 'reply' }, signal)
      gateway.completeTurn(accepted.seq, { text: `you said ${event.text}` })
    }
  })()
  const done = runInteractive({ client, input, output: output.pipe, signal })
  input.end('one\n\ntwo\n')
  assert.equal(await done, 0)
  await answering
  assert.equal(output.text(), 'you said one\nyou said two\n')
})

test('a chat without a daemon reports that and exits', async () => {
  const output = stream(false)
  const client = createChatClient({
    url: 'http://127.0.0.1:1',
    token,
    fetch: () => Promise.reject(new TypeError('fetch failed')),
  })
  assert.equal(await runInteractive({ client, input: new PassThrough(), output: output.pipe, signal }), 1)
  assert.match(output.text(), /\(cli\/no-daemon\)/)
})

test('a user asks, sees the reply grow, and gets the prompt back', async (t) => {
  const { keys, output, gateway, adapter, done } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('hello\r')
  const { event } = await asked
  assert.equal(event.text, 'hello')
  assert.equal(event.metadata, undefined)
  const draft = { deliveryId: 'd', target, text: 'Hel', kind: 'draft' as const, turnId: 't' }
  await adapter.send(draft, signal)
  await output.until(/Hel$/)
  adapter.activity?.(target, { kind: 'tool-started', turnId: 't', callId: 'c', tool: 'terminal', label: 'date' })
  await output.until(/· terminal date/)
  gateway.completeTurn(1, { text: 'Hello!' })
  await output.until(/lo!\n[^\n]*› [^\n]*$/)
  keys.write('/quit\r')
  assert.equal(await done, 0)
  assert.ok(output.text().startsWith('\u001b[?2004h'))
  assert.ok(output.text().trimEnd().endsWith('\u001b[?2004l'))
})

test('commands of the gateway are forwarded', async (t) => {
  const { keys, gateway } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('/status now\r')
  const { event } = await asked
  assert.deepEqual([event.text, event.messageType], ['/status now', 'command'])
  gateway.completeTurn(1, { text: 'All is well.' })
})

test('a paste of several lines is one message, which Enter sends', async (t) => {
  const { keys, gateway, output } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('Look at this:\u0020\u001b[200~line one\r\nline two\r\n\r\nline four\u001b[201~')
  await output.until(/line four/)
  assert.equal(gateway.ingestedEvents.length, 0)
  keys.write(' please\r')
  assert.equal((await asked).event.text, 'Look at this: line one\nline two\n\nline four please')
  gateway.completeTurn(1, { text: 'ok' })
})

test('a paste is one message also on a terminal without bracketed paste', async (t) => {
  const { keys, gateway } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('line one\rline two\rline three\r')
  assert.equal((await asked).event.text, 'line one\nline two\nline three')
  gateway.completeTurn(1, { text: 'ok' })
})

test('a backslash at the end of a line continues the message on the next line', async (t) => {
  const { keys, gateway, output } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('first \\\r')
  await output.until(/… /)
  keys.write('second\\\\\r')
  assert.equal((await asked).event.text, 'first \nsecond\\\\')
  gateway.completeTurn(1, { text: 'ok' })
})

test('Ctrl-C leaves a continued message', async (t) => {
  const { keys, gateway, output } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('first \\\r')
  await output.until(/… /)
  keys.write('\u0003')
  await output.until(/… [\s\S]*› /)
  keys.write('other\r')
  assert.equal((await asked).event.text, 'other')
  gateway.completeTurn(1, { text: 'ok' })
})

test('Tab completes what is typed', async (t) => {
  const { keys, gateway } = await chatting(t, { complete: async (line) => [['notes.md '], line.slice('read '.length)] })
  const asked = gateway.nextEvent()
  keys.write('read no\t')
  await new Promise((resolve) => setImmediate(resolve))
  keys.write('now\r')
  assert.equal((await asked).event.text, 'read notes.md now')
  gateway.completeTurn(1, { text: 'ok' })
})

test('the arrow keys offer lines of earlier chats, and messages of one line are added to them', async (t) => {
  const added: string[] = []
  const history = {
    read: () => ['oldest', 'newest'],
    async add(line: string) {
      added.push(line)
    },
  }
  const { keys, gateway } = await chatting(t, { history })
  const asked = gateway.nextEvent()
  keys.write('\u001b[200~pasted one\rpasted two\u001b[201~\r')
  assert.equal((await asked).event.text, 'pasted one\npasted two')
  gateway.completeTurn(1, { text: 'ok' })
  const next = gateway.nextEvent()
  keys.write('\u001b[A\u001b[A again\r')
  assert.equal((await next).event.text, 'newest again')
  gateway.completeTurn(2, { text: 'ok' })
  assert.deepEqual(added, ['newest again'])
})

test('the first Ctrl-C stops the turn, the second exits', async (t) => {
  const { keys, gateway, output, done } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('count\r')
  await asked
  keys.write('\u0003')
  await output.until(/Stopping/)
  while (gateway.stopped.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(gateway.stopped, [1])
  keys.write('\u0003')
  assert.equal(await done, 130)
})

test('Ctrl-C clears the prompt, and exits when the prompt is empty', async (t) => {
  const { keys, gateway, output, done } = await chatting(t)
  keys.write('half a thou')
  await output.until(/half a thou/)
  keys.write('\u0003')
  await output.until(/half a thou[^\n]*\n[^\n]*› [^\n]*$/)
  keys.write('\u0003')
  assert.equal(await done, 0)
  assert.equal(gateway.ingestedEvents.length, 0)
})

test('Ctrl-D exits', async (t) => {
  const { keys, done } = await chatting(t)
  keys.write('\u0004')
  assert.equal(await done, 0)
})

test('a notice that arrives while the user types keeps the typed text', async (t) => {
  const { keys, output, adapter, gateway } = await chatting(t)
  keys.write('I was abou')
  await output.until(/I was abou/)
  await adapter.send({ deliveryId: 'n', target, text: 'Reminder: tea', kind: 'notice' }, signal)
  await output.until(/Reminder: tea\n[^\n]*› I was abou/)
  const asked = gateway.nextEvent()
  keys.write('t to ask\r')
  assert.equal((await asked).event.text, 'I was about to ask')
  gateway.completeTurn(1, { text: 'ok' })
})

test('SIGTERM stops the turn before the process exits', async (t) => {
  const { keys, gateway, received, done } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('count\r')
  await asked
  received.abort()
  assert.equal(await done, 130)
  assert.deepEqual(gateway.stopped, [1])
})

test('what is typed during an answer is not mixed into it, and is in the prompt afterwards', async (t) => {
  const { gateway, adapter, keys, output } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('count\r')
  const { accepted } = await asked
  assert.ok(accepted.status === 'accepted')
  await adapter.send({ deliveryId: 'd', target, text: 'one two ', kind: 'draft', turnId: 't' }, signal)
  await output.until(/one two /)
  keys.write(`typed ${'x'.repeat(200)} early`)
  gateway.completeTurn(accepted.seq, { text: 'one two three' })
  await output.until(/› typed x+ early/)
  const text = output.text()
  assert.ok(text.includes('one two three\n'), JSON.stringify(text))
  assert.equal(text.split('typed').length, 2, 'it is printed once')
})

const choices = ['Allow once', 'This session', 'Deny'].map((label, index) => ({ id: `appr:q:${index}`, label }))

test('a question lists its choices with numbers and takes a number or a label', async (t) => {
  const { gateway, adapter, keys, output } = await chatting(t)
  const asked = gateway.nextEvent()
  keys.write('clean up\r')
  await asked
  gateway.answerPresses({ status: 'taken', text: 'Refused.' })
  const question = { target, kind: 'notice' as const, text: 'May I run `rm -r a`?', buttons: choices }
  await adapter.send({ ...question, deliveryId: 'd1' }, signal)
  const other = choices.map(({ label }, index) => ({ id: `appr:r:${index}`, label }))
  await adapter.send({ ...question, text: 'May I run `rm -r b`?', deliveryId: 'd2', buttons: other }, signal)
  await output.until(/rm -r a[^\n]*\n\n {2}1 {2}Allow once\n {2}2 {2}This session\n {2}3 {2}Deny\n\n[^\n]*› /)
  assert.doesNotMatch(output.text(), /rm -r b/, 'one question at a time')
  keys.write('3\r')
  await output.until(/Refused\.[^\n]*\n[\s\S]*rm -r b/)
  await adapter.edit?.('d1', { ...question, text: 'done\n\n**Deny** — owner', deliveryId: 'e' }, true, signal)
  keys.write('this session\r')
  await output.until(/rm -r b[\s\S]*Refused\./)
  assert.deepEqual(
    gateway.presses.map(({ buttonId, messageId }) => [buttonId, messageId]),
    [
      ['appr:q:2', 'd1'],
      ['appr:r:1', 'd2'],
    ],
  )
  assert.equal(gateway.ingestedEvents.length, 1, 'an answer is not a message')
  gateway.completeTurn(1, { text: 'ok' })
  await output.until(/ok\n/)
})

test('a question that another terminal answers shows its result, and other text remains a message', async (t) => {
  const { gateway, adapter, keys, output } = await chatting(t)
  const first = gateway.nextEvent()
  keys.write('clean up\r')
  await first
  const { buttons: _, ...result } = { target, kind: 'notice' as const, text: '', deliveryId: 'd1', buttons: choices }
  await adapter.send({ ...result, text: 'May I?', buttons: choices }, signal)
  await output.until(/3 {2}Deny/)
  const second = gateway.nextEvent()
  keys.write('/deny keep it\r')
  assert.equal((await second).event.text, '/deny keep it')
  await adapter.edit?.('d1', { ...result, text: 'May I?\n\n**Deny** — owner: keep it' }, true, signal)
  await output.until(/Deny — owner: keep it/)
  gateway.completeTurn(2, { text: 'Refused.' })
  gateway.completeTurn(1, { text: 'ok' })
  await output.until(/ok\n/)
  const third = gateway.nextEvent()
  keys.write('3\r')
  assert.equal((await third).event.text, '3')
})

test('a terminal that is opened shows the questions that are still open', async (t) => {
  const { client, adapter, gateway } = await connected(t)
  const asked = { from: 'agent' as const, kind: 'notice' as const, at: 0 }
  gateway.history.push(
    { ...asked, id: '1', text: 'old', question: { id: 'p', state: 'refused', buttons: [] } },
    { ...asked, id: '2', text: 'May I?', question: { id: 'q', state: 'open', buttons: choices } },
  )
  const events = client.events(signal)
  const missed = { type: 'missed', id: '2', kind: 'notice', text: 'May I?', buttons: choices }
  assert.deepEqual((await events.next()).value, missed)
  assert.deepEqual((await events.next()).value, { type: 'ready', cursor: '2' })
  gateway.answerPresses({ status: 'stale', text: 'This was answered before: Deny.' })
  assert.equal((await client.press('appr:q:0', '2', signal)).status, 'stale')
  await adapter.edit?.('2', { deliveryId: 'e', target, text: 'May I?\n\n**Deny**', kind: 'notice' }, true, signal)
  assert.deepEqual((await events.next()).value, { type: 'settled', button: 'appr:q:0', text: 'May I?\n\n**Deny**' })
  await events.return(undefined)
})

test('the question about a command is printed once, although it is the result of the command, too', async (t) => {
  const { gateway, adapter, keys, output } = await chatting(t)
  for (const [seq, isResultFirst] of [true, false].entries()) {
    const asked = gateway.nextEvent()
    keys.write('/new\r')
    await asked
    const text = `Go on ${seq}?`
    const buttons = choices.map(({ label }, index) => ({ id: `sc:${index}:${seq}`, label }))
    const message = { deliveryId: `d${seq}`, target, kind: 'notice' as const, text, buttons }
    const end = () => gateway.completeTurn(seq + 1, { text })
    if (isResultFirst) {
      end()
      await output.until(/Go on 0\?\n[^\n]*› /)
    }
    await adapter.send(message, signal)
    await output.until(new RegExp(`Go on ${seq}[\\s\\S]*3 {2}Deny\\n\\n[^\\n]*› `))
    if (!isResultFirst) end()
    gateway.answerPresses({ status: 'taken', text: `Cancelled ${seq}.` })
    keys.write('3\r')
    await output.until(new RegExp(`Cancelled ${seq}`))
    assert.equal(output.text().split(text).length, 2, output.text())
  }
})
