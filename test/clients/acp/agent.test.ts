/**
 * An editor talks to the agent over the Agent Client Protocol.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { methods } from '@agentclientprotocol/sdk'
import { startTestGateway, type TestGatewayOptions } from '../../kit/start-gateway.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { conversation, rowsIn, terminalCall } from '../../stories/support.ts'
import { openEditor, type TestEditorOptions } from './editor.ts'

async function withEditor(t: TestContext, options: TestGatewayOptions = {}, editorOptions: TestEditorOptions = {}) {
  const project = tempHome(t)
  const gateway = await startTestGateway(t, {
    ...options,
    config: { terminal: { sandbox: 'off' }, ...options.config },
  })
  return { project, gateway, editor: await openEditor(t, gateway, editorOptions) }
}

const isCode = (code: number) => (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === code

test('a session works in the folder of the editor, and its answer, tokens, title and commands are shown', async (t) => {
  const { project, gateway, editor } = await withEditor(t, {
    replies: [terminalCall('pwd; echo hi > made'), { text: 'It is **done**.' }],
  })
  const id = await editor.open(project)
  const commands = await editor.until((update) => update.sessionUpdate === 'available_commands_update')
  assert.ok(commands.sessionUpdate === 'available_commands_update')
  assert.ok(commands.availableCommands.some(({ name }) => name === 'new'))
  assert.equal(await editor.say(id, 'look around'), 'end_turn')
  assert.equal(editor.text(id), 'It is **done**.')
  assert.equal(readFileSync(join(project, 'made'), 'utf8'), 'hi\n')
  const [request] = gateway.model.requests
  assert.match(JSON.stringify(request?.body), new RegExp(`Commands run in ${project}`))
  const kinds = editor.updates.map(({ update }) => update.sessionUpdate)
  assert.ok(kinds.includes('usage_update') && kinds.includes('session_info_update'), String(kinds))
  assert.deepEqual(
    rowsIn(gateway.home, 'select platform from sessions').map(({ platform }) => platform),
    ['acp'],
  )
})

test('the folder lasts over a restart, and another one is refused clearly', async (t) => {
  const { project, gateway, editor } = await withEditor(t, {
    replies: [{ text: 'one' }, terminalCall('pwd'), { text: 'two' }],
  })
  const id = await editor.open(project)
  await editor.say(id, 'hello')
  await gateway.stop()
  await gateway.start()
  const again = await openEditor(t, gateway)
  await again.agent.request(methods.agent.session.resume, { sessionId: id, cwd: project })
  await again.say(id, 'where are you?')
  assert.ok(conversation(gateway.model.requests[2]).join('\n').includes(project))
  const open = (cwd: string) => again.agent.request(methods.agent.session.new, { cwd, mcpServers: [] })
  await assert.rejects(open('here'), isCode(-32602))
  const isNoFolder = (error: unknown) => JSON.stringify(error).includes('terminal/no-folder')
  await assert.rejects(open(join(project, 'missing')), isNoFolder)
  await assert.rejects(open(gateway.home.root), isNoFolder)
  writeFileSync(join(project, 'file'), '')
  await assert.rejects(open(join(project, 'file')), isNoFolder)
})

test('a tool call is shown with its kind, its place and the change as a diff; the steps are a plan', async (t) => {
  const { project, editor } = await withEditor(t, {
    replies: [
      { toolCalls: [{ name: 'todo', arguments: { todos: [{ id: '1', content: 'write', status: 'in_progress' }] } }] },
      { toolCalls: [{ name: 'patch', arguments: { path: 'a.txt', old_string: 'two', new_string: 'deux' } }] },
      terminalCall('echo out; exit 3'),
      { text: 'done' },
    ],
  })
  writeFileSync(join(project, 'a.txt'), 'one\ntwo\nthree\n')
  const id = await editor.open(project)
  await editor.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'accept_edits' })
  await editor.say(id, 'translate')
  const updates = editor.updates.map(({ update }) => update)
  assert.deepEqual(
    updates.find((update) => update.sessionUpdate === 'plan'),
    { sessionUpdate: 'plan', entries: [{ content: 'write', priority: 'medium', status: 'in_progress' }] },
  )
  const started = updates.filter((update) => update.sessionUpdate === 'tool_call')
  assert.deepEqual(
    started.map(({ kind, name }) => [name, kind]),
    [
      ['todo', 'think'],
      ['patch', 'edit'],
      ['terminal', 'execute'],
    ],
  )
  assert.deepEqual(started[1]?.locations, [{ path: join(project, 'a.txt') }])
  const contents = updates.flatMap((update) =>
    update.sessionUpdate === 'tool_call_update' ? (update.content ?? []) : [],
  )
  const diff = contents.find(({ type }) => type === 'diff')
  assert.deepEqual(diff, {
    type: 'diff',
    path: join(project, 'a.txt'),
    oldText: 'one\ntwo\nthree',
    newText: 'one\ndeux\nthree',
  })
  assert.match(JSON.stringify(contents), /\$ echo out; exit 3\\nout/)
})

test('an editor with terminals gets the output of a command as one', async (t) => {
  const { project, editor } = await withEditor(
    t,
    { replies: [terminalCall('echo out'), { text: 'done' }] },
    { capabilities: { _meta: { terminal_output: true } } },
  )
  await editor.say(await editor.open(project), 'run it')
  const updates = editor.updates.map(({ update }) => update)
  const started = updates.find((update) => update.sessionUpdate === 'tool_call')
  assert.ok(started?.sessionUpdate === 'tool_call')
  assert.equal(started.content?.[0]?.type, 'terminal')
  const ended = updates.find((update) => update.sessionUpdate === 'tool_call_update' && update._meta != null)
  assert.match(JSON.stringify(ended?._meta), /out.*"exit_code":0/)
})

test('a question is a permission request: allowed, refused, and in the mode that does not ask there is none', async (t) => {
  const answers = ['Allow once', 'Deny']
  const { project, editor } = await withEditor(
    t,
    {
      replies: ['a', 'b', 'c'].flatMap((name) => [terminalCall(`rm -r ${name}`), { text: name }]),
    },
    {
      choose({ options }) {
        const label = answers.shift()
        return options.find(({ name }) => name === label)?.optionId
      },
    },
  )
  for (const name of ['a', 'b', 'c']) mkdirSync(join(project, name))
  const id = await editor.open(project)
  assert.equal(await editor.say(id, 'remove a'), 'end_turn')
  assert.equal(await editor.say(id, 'remove b'), 'end_turn')
  assert.deepEqual(
    ['a', 'b'].map((name) => existsSync(join(project, name))),
    [false, true],
  )
  assert.deepEqual(
    editor.asked[0]?.options.map(({ name, kind }) => [name, kind]),
    [
      ['Allow once', 'allow_once'],
      ['This session', 'allow_always'],
      ['Always', 'allow_always'],
      ['Deny', 'reject_once'],
    ],
  )
  const questionIds = editor.asked.map(({ toolCall }) => toolCall.toolCallId)
  for (const toolCallId of questionIds)
    await editor.until(
      (update) =>
        update.sessionUpdate === 'tool_call_update' &&
        update.toolCallId === toolCallId &&
        update.status === 'completed',
    )
  await editor.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'yolo' })
  await editor.say(id, 'remove c')
  assert.equal(editor.asked.length, 2)
  assert.ok(!existsSync(join(project, 'c')))
  await assert.rejects(
    editor.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'x' }),
    isCode(-32602),
  )
})

test('the mode holds from the first message of a session, and /yolo in the editor changes what it shows', async (t) => {
  const { project, editor } = await withEditor(t, { replies: [terminalCall('rm -r a'), { text: 'gone' }] })
  mkdirSync(join(project, 'a'))
  const id = await editor.open(project)
  await editor.agent.request(methods.agent.session.setMode, { sessionId: id, modeId: 'yolo' })
  await editor.say(id, 'remove it')
  assert.deepEqual([editor.asked.length, existsSync(join(project, 'a'))], [0, false])
  assert.equal(await editor.say(id, '/yolo'), 'end_turn')
  await editor.until((update) => update.sessionUpdate === 'current_mode_update' && update.currentModeId === 'default')
})

test('a cancelled turn ends as cancelled; a second cancel and one without a turn change nothing', async (t) => {
  const { project, editor } = await withEditor(t, { replies: [terminalCall('sleep 60'), { text: 'next' }] })
  const id = await editor.open(project)
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: id })
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: 'unknown' })
  const running = editor.say(id, 'wait')
  await editor.until((update) => update.sessionUpdate === 'tool_call')
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: id })
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: id })
  assert.equal(await running, 'cancelled')
  assert.equal(await editor.say(id, 'go on'), 'end_turn')
})

test('a cancel withdraws the question that waits', async (t) => {
  const { project, editor } = await withEditor(t, { replies: [terminalCall('rm -r a'), { text: 'never' }] })
  mkdirSync(join(project, 'a'))
  const id = await editor.open(project)
  const running = editor.say(id, 'remove it')
  while (editor.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
  await editor.agent.notify(methods.agent.session.cancel, { sessionId: id })
  assert.equal(await running, 'cancelled')
  assert.ok(existsSync(join(project, 'a')))
})

test('sessions are listed, loaded with their messages, resumed without, copied and deleted', async (t) => {
  const { project, gateway, editor } = await withEditor(t, {
    replies: [terminalCall('echo hi'), { text: 'first answer' }, { text: 'second answer' }],
  })
  const id = await editor.open(project)
  await editor.say(id, 'first question')
  const other = await openEditor(t, gateway)
  const { sessions, nextCursor } = await other.agent.request(methods.agent.session.list, {})
  assert.deepEqual(
    [sessions.map(({ sessionId, cwd, title }) => [sessionId, cwd, title]), nextCursor],
    [[[id, project, 'first question']], null],
  )
  assert.deepEqual((await other.agent.request(methods.agent.session.list, { cwd: '/elsewhere' })).sessions, [])
  const where = { cwd: project, mcpServers: [] }
  await other.agent.request(methods.agent.session.load, { sessionId: id, ...where })
  const elsewhere = other.agent.request(methods.agent.session.load, { ...where, sessionId: id, cwd: tempHome(t) })
  await assert.rejects(elsewhere, isCode(-32602))
  const replayed = other.updates
    .map(({ update }) => update.sessionUpdate)
    .filter((kind) => kind !== 'available_commands_update')
  assert.deepEqual(replayed, ['user_message_chunk', 'tool_call', 'agent_message_chunk'])
  const copy = await other.agent.request<{ sessionId: string }>('session/fork', { sessionId: id, cwd: project })
  assert.notEqual(copy.sessionId, id)
  await other.say(copy.sessionId, 'second question')
  const said = conversation(gateway.model.requests[2])
  assert.deepEqual([said.at(0), said.at(-1)], ['user: first question', 'user: second question'])
  await editor.agent.request(methods.agent.session.resume, { sessionId: copy.sessionId, cwd: project })
  assert.equal(editor.text(copy.sessionId), '')
  await editor.agent.request(methods.agent.session.delete, { sessionId: copy.sessionId })
  const load = editor.agent.request(methods.agent.session.load, { sessionId: copy.sessionId, ...where })
  await assert.rejects(load, isCode(-32002))
  assert.equal((await editor.agent.request(methods.agent.session.list, { cwd: project })).sessions.length, 1)
  const left = await editor.agent.request(methods.agent.session.list, {})
  assert.deepEqual(
    left.sessions.map(({ sessionId }) => sessionId),
    [id],
  )
})

test('a session that does not exist is named in a clear error', async (t) => {
  const { project, editor } = await withEditor(t)
  const where = { cwd: project, mcpServers: [] }
  for (const sessionId of ['nothing', '../../etc', 'x'.repeat(5_000)]) {
    await assert.rejects(editor.agent.request(methods.agent.session.load, { sessionId, ...where }), isCode(-32002))
    await assert.rejects(editor.say(sessionId, 'hello'), isCode(-32002))
  }
  const id = await editor.open(project)
  await assert.rejects(editor.say(id, '  '), isCode(-32602))
})

test('a failed turn is an error with the code of the gateway', async (t) => {
  const { project, editor } = await withEditor(t, { model: () => ({ error: { status: 401 } }) })
  const id = await editor.open(project)
  await assert.rejects(editor.say(id, 'hello'), (error: unknown) =>
    /"code":"(?:provider|model|agent)\//.test(JSON.stringify(error)),
  )
})

test('the answer arrives although the gateway restarts in the middle of the turn', async (t) => {
  const { project, gateway, editor } = await withEditor(t, {
    config: { http: { port: 0 } },
    replies: [terminalCall('sleep 0.3; echo slept'), { text: 'after the restart' }, { text: 'after the restart' }],
  })
  const id = await editor.open(project)
  const running = editor.say(id, 'take a nap')
  await editor.until((update) => update.sessionUpdate === 'tool_call')
  const port = new URL(gateway.current().url).port
  gateway.configure({ terminal: { sandbox: 'off' }, http: { port: Number(port) } })
  await gateway.stop(AbortSignal.abort())
  await gateway.start()
  assert.equal(await running, 'end_turn')
  assert.match(editor.text(id), /after the restart/)
})
