/**
 * A script of the agent calls tools: each call passes plugins, the command policy and the ceiling of the role.
 */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { asArray, isRecord } from '../../src/sdk.ts'
import { withoutPython } from '../hosts/support.ts'
import { startTestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { hasResult, rowsIn, waitForQuestion } from './support.ts'

/** Lets the model run one script, and returns its result. */
async function runScript(t: TestContext, code: string, options: TestGatewayOptions = {}) {
  const gateway = await startTestGateway(t, {
    ...options,
    config: {
      roles: { owners: ['fake:user'] },
      ...options.config,
    },
    model: (request) =>
      hasResult(request) ? { text: 'done' } : { toolCalls: [{ name: 'execute_code', arguments: { code } }] },
  })
  await gateway.say('run it')
  // Without a sandbox, a script needs the consent of a person.
  await waitForQuestion(gateway)
  await gateway.say('/approve')
  await gateway.waitForReply('done')
  const [last] = asArray((await gateway.modelRequest(1)).body['messages']).slice(-1)
  const result: unknown = JSON.parse(isRecord(last) ? String(last['content']) : '')
  assert.ok(isRecord(result))
  return { gateway, result }
}

test('a script reads, writes and runs commands with the tools of the agent', { skip: withoutPython }, async (t) => {
  const { gateway, result } = await runScript(
    t,
    `
from hermes_tools import write_file, read_file, terminal
write_file("notes.txt", "first\\nsecond\\n")
print(read_file("notes.txt")["content"])
print(terminal("cat notes.txt | wc -l")["output"].strip())
`,
  )
  assert.equal(result['status'], 'success', JSON.stringify(result))
  assert.match(String(result['output']), /first[\s\S]*second[\s\S]*\n2\n/)
  assert.equal(result['tool_calls_made'], 3)
  assert.ok(existsSync(join(gateway.home.root, 'notes.txt')))
})

test('the command policy refuses in a script what it refuses outside', { skip: withoutPython }, async (t) => {
  const { result } = await runScript(t, 'from hermes_tools import terminal\nprint(terminal("rm -rf /"))')
  assert.match(String(result['output']), /command_refused/)
})

test('plugins see each call of a script, and can reject it', { skip: withoutPython }, async (t) => {
  const body = `
    ctx.registerHook('pre_tool_call', (payload) => {
      if (payload.tool_name === 'read_file') return { action: 'block', message: 'not this file' }
    })`
  const { result } = await runScript(t, 'from hermes_tools import read_file\nprint(read_file("x"))', {
    config: { plugins: { enabled: ['witness'] } },
    prepare: (home) => writeFiles(home.plugins, pluginFiles('witness', body)),
  })
  assert.match(String(result['output']), /not this file/)
})

test('a script of a person without the right to write cannot write', { skip: withoutPython }, async (t) => {
  const { gateway, result } = await runScript(
    t,
    'from hermes_tools import write_file\nprint(write_file("x.txt", "y"))',
    { config: { roles: { members: ['fake:user'], member: { tools: ['*', 'terminal', '-file'] } } } },
  )
  assert.match(JSON.stringify(result), /error/)
  assert.ok(!existsSync(join(gateway.home.root, 'x.txt')))
})

test('without a sandbox a person is asked, and what the operator has denied never runs', {
  skip: withoutPython,
}, async (t) => {
  const gateway = await startTestGateway(t, {
    config: {
      roles: { owners: ['fake:user'] },
      approvals: { deny: ['*docker*'] },
    },
  })
  const script = (code: string) => ({ toolCalls: [{ name: 'execute_code', arguments: { code } }] })
  gateway.model.enqueue(script('print(1)'), { text: 'asked' }, script('import os\nos.system("docker ps")'), {
    text: 'denied',
  })
  await gateway.say('run it')
  await waitForQuestion(gateway)
  await gateway.say('/deny')
  await gateway.waitForReply('asked')
  await gateway.say('now the other')
  await gateway.waitForReply('denied')
  const results = rowsIn(gateway.home, "select content from messages where role = 'tool' order by ord")
  assert.match(String(results.at(-1)?.['content']), /command_refused/)
})

test('where the terminal is not permitted, neither are scripts', { skip: withoutPython }, async (t) => {
  const offered = async (config: Readonly<Record<string, unknown>>) => {
    const gateway = await startTestGateway(t, { config })
    await gateway.say('hello')
    await gateway.waitForReply('hello')
    return JSON.stringify((await gateway.modelRequest(0)).body['tools'])
  }
  assert.match(await offered({ roles: { owners: ['fake:user'] } }), /execute_code/)
  for (const config of [
    { agent: { disabled_toolsets: ['terminal'] } },
    { terminal: { backend: 'none' } },
    { toolsets: ['all', '-terminal'] },
  ])
    assert.doesNotMatch(
      await offered({ roles: { owners: ['fake:user'] }, ...config }),
      /execute_code/,
      JSON.stringify(config),
    )
  const member = { roles: { members: ['fake:user'], member: { tools: ['*', '-terminal'] } } }
  assert.doesNotMatch(await offered(member), /execute_code/)
})
