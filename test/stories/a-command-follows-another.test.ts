/**
 * What a command leaves to the next one over turns and restarts, and what becomes of a long output.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ModelReply, RecordedRequest } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { at, conversation, rowsIn, terminalCall } from './support.ts'

/** Runs each message as a command, and answers with its result. */
const runner = (request: RecordedRequest): ModelReply => {
  const last = conversation(request).at(-1) ?? ''
  return last.startsWith('user: ') ? terminalCall(last.slice('user: '.length)) : { text: last }
}

test('the directory of a conversation lasts over a restart, variables stay in memory, and /new begins afresh', async (t) => {
  const gateway = await startTestGateway(t, { model: runner, prepare: ({ root }) => mkdirSync(join(root, 'project')) })
  await gateway.say('cd project; export TOKEN=hunter2-secret')
  await gateway.waitForReply('"cwd":')
  await gateway.say('echo "1 $TOKEN in $(basename "$PWD")"')
  await gateway.waitForReply('1 hunter2-secret in project')
  await gateway.say('pwd; echo two', { chat: 'other' })
  assert.ok((await gateway.waitForReply('two', 'other')).text.includes(`${gateway.home.root}\\n`))
  await gateway.stop()
  assert.doesNotMatch(JSON.stringify(rowsIn(gateway.home, 'select settings from session_settings')), /hunter2/)
  await gateway.start()
  await gateway.say('echo "3 $TOKEN in $(basename "$PWD")"')
  await gateway.waitForReply('3  in project')
  await gateway.say('/new')
  await gateway.say('pwd; echo four')
  assert.ok((await gateway.waitForReply('four')).text.includes(`${gateway.home.root}\\n`))
})

test('with persistent_shell off each command begins where the environment begins', async (t) => {
  const gateway = await startTestGateway(t, {
    model: runner,
    config: { terminal: { persistent_shell: false } },
    prepare: ({ root }) => mkdirSync(join(root, 'project')),
  })
  await gateway.say('cd project; export VALUE=kept; echo one')
  await gateway.waitForReply('one')
  await gateway.say('echo "2 [$VALUE]"; pwd')
  assert.ok((await gateway.waitForReply('2 []')).text.includes(`${gateway.home.root}\\n`))
})

test('the agent reads what did not fit into the result of a command', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { agent: { max_tool_result_chars: 1_000 } },
    model: (request) => {
      const results = conversation(request).filter((line) => line.startsWith('tool: '))
      const [first = '', second] = results.map((line) => line.slice('tool: '.length))
      if (first === '') return terminalCall('seq 2000')
      if (second !== undefined) return { text: `done ${second}` }
      const path = at(JSON.parse(first), 'full_result')
      return { toolCalls: [{ name: 'read_file', arguments: { path, offset: 1_000, limit: 1 } }] }
    },
  })
  await gateway.say('count')
  await gateway.waitForReply('1000|1000')
  const [, path = ''] =
    /"full_result":"([^"]+)"/.exec(JSON.stringify(conversation(gateway.model.requests[1])).replaceAll('\\"', '"')) ?? []
  assert.ok(path.startsWith(gateway.home.results))
  assert.match(readFileSync(path, 'utf8'), /^1\n2\n[\s\S]*\n2000\n$/)
})
