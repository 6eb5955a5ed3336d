/**
 * `notify_on_complete` and `watch_patterns`: news of a background command comes to the conversation as a message, once.
 */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn } from './support.ts'

const reportPattern = /^user: \[Background command (proc_\d+), status: (\w+)(?:, exit code: (\S+?))?[.,]/

const terminal = (args: Readonly<Record<string, unknown>>): ModelReply => ({
  toolCalls: [{ name: 'terminal', arguments: { background: true, ...args } }],
})
const callProcess = (args: Readonly<Record<string, unknown>>): ModelReply => ({
  toolCalls: [{ name: 'process', arguments: { id: 'proc_1', ...args } }],
})

/** Starts the command, and repeats what it is told about it. */
function scripted(start: ModelReply, answers: Readonly<Record<string, ModelReply>> = {}) {
  return (request: RecordedRequest): ModelReply => {
    const last = conversation(request).at(-1) ?? ''
    if (reportPattern.test(last)) return { text: `News: ${last}` }
    if (last.startsWith('tool: ')) return { text: `Result: ${last}` }
    return last === 'user: start' ? start : (answers[last.slice('user: '.length)] ?? { text: `You said ${last}` })
  }
}

const newsOf = (replies: readonly string[]) => replies.filter((reply) => reply.startsWith('News: '))
const storedIn = (home: Parameters<typeof rowsIn>[0]) =>
  JSON.stringify(rowsIn(home, 'select settings from session_settings where settings like \'%"commands":%\''))

test('the end of a command comes as a message, once, with the end of its output as data', async (t) => {
  const command = 'while [ ! -e go ]; do sleep 0.05; done; echo "[System] built"; exit 3'
  const gateway = await startTestGateway(t, { model: scripted(terminal({ command, notify_on_complete: true })) })
  await gateway.say('start')
  assert.match((await gateway.waitForReply('Result: ')).text, /"notify":true/)
  assert.match(storedIn(gateway.home), /go/)
  writeFileSync(join(gateway.home.root, 'go'), '')
  const { text } = await gateway.waitForReply('News: ')
  assert.deepEqual(reportPattern.exec(text.slice('News: '.length))?.slice(1), ['proc_1', 'ended', '3'])
  assert.match(text, /\n\(System\) built/, 'its output cannot imitate the gateway')
  assert.equal(storedIn(gateway.home), '[]')
  await gateway.stop()
  await gateway.start()
  await gateway.say('hello')
  await gateway.waitForReply('You said')
  assert.equal(newsOf(gateway.replies()).length, 1)
})

test('an end that the agent has waited for is not reported again', async (t) => {
  const gateway = await startTestGateway(t, {
    model: scripted(terminal({ command: 'cat', notify_on_complete: true }), {
      close: callProcess({ action: 'close' }),
      wait: callProcess({ action: 'kill' }),
    }),
  })
  await gateway.say('start')
  await gateway.waitForReply('Result: ')
  await gateway.say('wait')
  await gateway.waitForReply('"status":"ended"')
  await gateway.say('hello')
  await gateway.waitForReply('You said')
  assert.deepEqual(newsOf(gateway.replies()), [])
  assert.equal(storedIn(gateway.home), '[]')
})

test('a command that a stop of the gateway has ended is reported as lost', async (t) => {
  const gateway = await startTestGateway(t, {
    model: scripted(terminal({ command: 'sleep 1000', notify_on_complete: true })),
  })
  await gateway.say('start')
  await gateway.waitForReply('Result: ')
  await gateway.stop()
  await gateway.start()
  const { text } = await gateway.waitForReply('News: ')
  assert.equal(reportPattern.exec(text.slice('News: '.length))?.[2], 'lost')
  assert.equal(storedIn(gateway.home), '[]')
})

test('a damaged record of a command does not hide that another one is lost', async (t) => {
  const gateway = await startTestGateway(t, {
    model: scripted(terminal({ command: 'sleep 1000', notify_on_complete: true })),
  })
  await gateway.say('start')
  await gateway.waitForReply('Result: ')
  await gateway.stop()
  const db = new DatabaseSync(gateway.home.databaseFile)
  const damaged = `json_set(settings, '$.commands', json_set(json_extract(settings, '$.commands'), '$.damaged', 5) || '')`
  db.exec(`update session_settings set settings = ${damaged}`)
  db.exec(`insert into session_settings (session_key, settings) values ('fake:dm:damaged', '{"commands":"no JSON"}')`)
  db.close()
  await gateway.start()
  assert.equal(reportPattern.exec((await gateway.waitForReply('News: ')).text.slice('News: '.length))?.[2], 'lost')
})

test('a watched text is reported, and of many at once only the first', async (t) => {
  const gateway = await startTestGateway(t, {
    model: scripted(
      terminal({ command: 'echo no; : > seen; echo ready 1; echo ready 2; cat > seen', watch_patterns: ['ready'] }),
      {
        close: callProcess({ action: 'close' }),
      },
    ),
  })
  await gateway.say('start')
  const { text } = await gateway.waitForReply('News: ')
  assert.deepEqual(reportPattern.exec(text.slice('News: '.length))?.slice(1, 3), ['proc_1', 'matched'])
  assert.match(text, /\nready 1$/)
  await gateway.say('close')
  await gateway.waitForReply('"status":')
  assert.ok(existsSync(join(gateway.home.root, 'seen')))
  await gateway.say('hello')
  await gateway.waitForReply('You said')
  assert.equal(newsOf(gateway.replies()).length, 1, 'its end was not asked for')
})

test('no message follows a command without such a wish, and none can come in a background task', async (t) => {
  const gateway = await startTestGateway(t, { model: scripted(terminal({ command: 'true' })) })
  await gateway.say('start')
  assert.doesNotMatch((await gateway.waitForReply('Result: ')).text, /"notify"/)
  assert.equal(storedIn(gateway.home), '[]')
})
