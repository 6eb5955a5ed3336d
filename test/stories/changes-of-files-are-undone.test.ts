/**
 * The files that the agent changed are restored with `/rollback`.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createChatClient } from '../../src/clients/chat/chat-client.ts'
import { findProgram } from '../../src/lib/find-program.ts'
import type { JsonObject } from '../../src/lib/json.ts'
import { withoutPython } from '../hosts/support.ts'
import type { ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { waitForQuestion } from './support.ts'

const skip = findProgram('git', process.env['PATH'] ?? '') === undefined ? 'git is not installed' : false

function folder(t: TestContext): string {
  const work = realpathSync(mkdtempSync(join(tmpdir(), 'hermes-work-')))
  t.after(() => rmSync(work, { recursive: true, force: true }))
  return work
}

const calls = (name: string, args: JsonObject): ModelReply => ({ toolCalls: [{ name, arguments: args }] })

test('what the agent changed in a turn is listed, shown, undone and redone from the chat', { skip }, async (t) => {
  const work = folder(t)
  const file = join(work, 'note.txt')
  writeFileSync(file, 'milk\n')
  const gateway = await startTestGateway(t, {
    config: { checkpoints: { enabled: true }, terminal: { cwd: work } },
    replies: [
      calls('patch', { path: 'note.txt', old_string: 'milk', new_string: 'eggs' }),
      calls('terminal', { command: 'echo new > other.txt' }),
      { text: 'Changed.' },
    ],
  })
  await gateway.say('/rollback')
  await gateway.waitForReply('no checkpoint')
  await gateway.say('change it')
  await gateway.waitForReply('Changed.')
  assert.equal(readFileSync(file, 'utf8'), 'eggs\n')
  await gateway.say('/rollback')
  const { text } = await gateway.waitForReply('Checkpoints of this conversation')
  assert.match(text, /^1\. .*patch.*$/m)
  assert.doesNotMatch(text, /^2\./m)
  await gateway.say('/rollback diff 1')
  await gateway.waitForReply('+eggs')
  await gateway.say('/rollback 1')
  await gateway.waitForReply('Restored in')
  assert.equal(readFileSync(file, 'utf8'), 'milk\n')
  assert.throws(() => readFileSync(join(work, 'other.txt')), { code: 'ENOENT' })
  await gateway.say('/rollback 1 note.txt')
  await gateway.say('/rollback 77')
  await gateway.waitForReply('no such checkpoint')
  assert.equal(readFileSync(file, 'utf8'), 'eggs\n')
})

test('without the setting no checkpoint is taken, and the reply says how to get them', async (t) => {
  const work = folder(t)
  const gateway = await startTestGateway(t, {
    config: { terminal: { cwd: work } },
    replies: [calls('write_file', { path: 'a.txt', content: 'a' }), { text: 'Written.' }],
  })
  await gateway.say('write')
  await gateway.waitForReply('Written.')
  await gateway.say('/rollback')
  await gateway.waitForReply(skip === false ? 'checkpoints.enabled' : 'git')
})

test('a conversation of the terminal has checkpoints with --checkpoints', { skip }, async (t) => {
  const work = folder(t)
  const gateway = await startTestGateway(t, {
    config: { terminal: { cwd: work }, platforms: { cli: { enabled: true } } },
    replies: [calls('write_file', { path: 'a.txt', content: 'a' }), { text: 'Written.' }],
  })
  const token = readFileSync(gateway.home.tokenFile, 'utf8').trim()
  const options = { url: gateway.current().url, token, fetch, checkpoints: true }
  const client = createChatClient(options)
  const { signal } = new AbortController()
  const ask = async (text: string) => (await client.waitForResult(await client.send(text, signal), signal)).text
  assert.equal(await ask('write'), 'Written.')
  assert.match(await ask('/rollback'), /Checkpoints of this conversation[\s\S]*write_file/)
})

test('what a script of the agent changed is undone', { skip: skip || withoutPython }, async (t) => {
  const work = folder(t)
  const file = join(work, 'note.txt')
  writeFileSync(file, 'milk\n')
  const gateway = await startTestGateway(t, {
    config: { checkpoints: { enabled: true }, terminal: { cwd: work }, roles: { owners: ['fake:user'] } },
    replies: [calls('execute_code', { code: "open('note.txt', 'w').write('eggs\\n')" }), { text: 'Changed.' }],
  })
  await gateway.say('change it')
  await waitForQuestion(gateway)
  await gateway.say('/approve')
  await gateway.waitForReply('Changed.')
  assert.equal(readFileSync(file, 'utf8'), 'eggs\n')
  await gateway.say('/rollback 1')
  await gateway.waitForReply('Restored in')
  assert.equal(readFileSync(file, 'utf8'), 'milk\n')
})
