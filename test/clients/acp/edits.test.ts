/**
 * A person in an editor sees changes of files before they are made.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { methods } from '@agentclientprotocol/sdk'
import type { ModelReply } from '../../kit/servers/model-script.ts'
import { startTestGateway } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { openEditor } from './editor.ts'

const call = (name: string, args: Readonly<Record<string, unknown>>): ModelReply[] => [
  { toolCalls: [{ name, arguments: args }] },
  { text: 'done' },
]

/** `answers`: the names of the options that the person chooses, in this order. */
async function withProject(t: TestContext, replies: readonly ModelReply[], answers: string[]) {
  const project = tempHome(t)
  const gateway = await startTestGateway(t, { config: { terminal: { sandbox: 'off' } }, replies })
  const editor = await openEditor(t, gateway, {
    choose({ options }) {
      const label = answers.shift()
      return options.find(({ name }) => name === label)?.optionId
    },
  })
  const id = await editor.open(project)
  const file = (name: string) => join(project, name)
  const choose = (modeId: string) => editor.agent.request(methods.agent.session.setMode, { sessionId: id, modeId })
  return { editor, project, id, file, choose }
}

/** Stands behind each question. */
const whoMayAnswer = {
  type: 'content',
  content: { type: 'text', text: 'Only the person who asked for it may answer.' },
}

test('a change is shown as a diff and waits for the answer; a refusal leaves the file, an answer for the session covers the project', async (t) => {
  const patch = (from: string, to: string) => call('patch', { path: 'a.txt', old_string: from, new_string: to })
  const replies = [
    ...patch('two', 'zwei'),
    ...patch('two', 'deux'),
    ...call('write_file', { path: 'b', content: 'b\n' }),
  ]
  const { editor, id, file } = await withProject(t, replies, ['Deny', 'This session'])
  writeFileSync(file('a.txt'), '\tone\ntwo\n')
  await editor.say(id, 'translate')
  assert.equal(readFileSync(file('a.txt'), 'utf8'), '\tone\ntwo\n')
  await editor.say(id, 'translate')
  assert.equal(readFileSync(file('a.txt'), 'utf8'), '\tone\ndeux\n')
  await editor.say(id, 'write')
  assert.ok(existsSync(file('b')))
  assert.equal(editor.asked.length, 2)
  const { toolCall, options } = editor.asked[1] ?? {}
  assert.equal(toolCall?.kind, 'edit')
  assert.deepEqual(toolCall?.locations, [{ path: file('a.txt') }])
  assert.deepEqual(toolCall?.content, [
    { type: 'diff', path: file('a.txt'), oldText: '\tone\ntwo', newText: '\tone\ndeux' },
    whoMayAnswer,
  ])
  assert.deepEqual(
    options?.map(({ name }) => name),
    ['Allow once', 'This session', 'Deny'],
  )
})

test('a patch of several files shows all of them, and a call that cannot work asks nothing', async (t) => {
  const text =
    '*** Begin Patch\n*** Update File: a\n@@\n-one\n+eins\n*** Add File: src/b\n+two\n*** Delete File: c\n*** End Patch'
  const replies = [...call('patch', { patch: text }), ...call('patch', { path: 'a', old_string: 'no', new_string: '' })]
  const { editor, id, file } = await withProject(t, replies, ['Allow once'])
  writeFileSync(file('a'), 'one\n')
  writeFileSync(file('c'), 'three\n')
  await editor.say(id, 'patch')
  assert.deepEqual(
    ['a', 'src/b', 'c'].map((name) => existsSync(file(name))),
    [true, true, false],
  )
  assert.deepEqual(editor.asked[0]?.toolCall.content, [
    { type: 'diff', path: file('a'), oldText: 'one', newText: 'eins' },
    { type: 'diff', path: file('src/b'), oldText: null, newText: 'two' },
    { type: 'diff', path: file('c'), oldText: 'three', newText: '' },
    whoMayAnswer,
  ])
  await editor.say(id, 'patch')
  assert.equal(editor.asked.length, 1)
})

test('the modes that accept changes still ask about sensitive files, and Yolo does not', async (t) => {
  const write = (path: string) => call('write_file', { path, content: 'x\n' })
  const outside = '/nonexistent-folder/a'
  const replies = [...write('a'), ...write(outside), ...write('.git/config'), ...write('.envrc'), ...write('.git/x')]
  const { editor, id, file, choose } = await withProject(t, replies, ['Deny', 'Deny', 'Deny'])
  mkdirSync(file('.git'))
  await choose('accept_edits')
  await editor.say(id, 'inside')
  assert.equal(editor.asked.length, 0)
  await editor.say(id, 'outside')
  assert.equal(editor.asked.length, 1)
  await choose('dont_ask')
  await editor.say(id, 'sensitive')
  await editor.say(id, 'sensitive')
  assert.equal(editor.asked.length, 3)
  await choose('yolo')
  await editor.say(id, 'anything')
  assert.equal(editor.asked.length, 3)
  assert.deepEqual(
    ['a', '.git/config', '.envrc', '.git/x'].map((name) => existsSync(file(name))),
    [true, false, false, true],
  )
})
