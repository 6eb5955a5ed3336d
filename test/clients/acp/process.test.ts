/**
 * `hermes acp` as an editor starts it: a process with pipes.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { client, methods, ndJsonStream } from '@agentclientprotocol/sdk'
import { homeWith, mainFile, quietConfig, runInProcess } from '../../cli/support.ts'
import { startOpenAiServer } from '../../kit/servers/openai-server.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { pluginFiles, writeFiles } from '../../plugins/loader-support.ts'
import { rowsIn, terminalCall } from '../../stories/support.ts'

/** A home with a plugin that prints, and a process on it whose output is recorded. */
async function startAcp(t: TestContext) {
  const server = await startOpenAiServer({ replies: [{ text: 'fine' }, terminalCall('sleep 60')] })
  t.after(() => server.stop())
  const home = homeWith(
    t,
    `${quietConfig}provider: openai\nmodel: test-model\nbase_url: ${server.baseUrl}\napi_key: sk-test-0123456789\nplugins: {enabled: [loud]}\n`,
  )
  const print = `console.log('printed'); process.stdout.write('written\\n'); ctx.registerHook?.('pre_llm_call', () => { console.log('printed'); process.stdout.write('written\\n') })`
  writeFiles(home.plugins, pluginFiles('loud', print))
  const project = tempHome(t)
  const child = spawn(process.execPath, [mainFile, 'acp'], {
    env: { PATH: process.env['PATH'], HOME: home.root, HERMES_HOME: home.root },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  let frames = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => {
    frames += chunk.toString()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString()
  })
  const tools = Promise.withResolvers<void>()
  const connection = client({ name: 'editor' })
    .onNotification(methods.client.session.update, ({ params }) => {
      if (params.update.sessionUpdate === 'tool_call') tools.resolve()
    })
    .connect(ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)))
  return {
    home,
    project,
    child,
    exited,
    agent: connection.agent,
    toolStarted: tools.promise,
    frames: () => frames,
    errors: () => errors,
  }
}

test('the output has frames only, garbage is answered, and nothing stays when the editor dies in a turn', async (t) => {
  const { home, project, child, exited, agent, toolStarted, frames, errors } = await startAcp(t)
  const { protocolVersion } = await agent.request(methods.agent.initialize, {
    protocolVersion: 99,
    clientCapabilities: {},
  })
  assert.equal(protocolVersion, 1)
  child.stdin.write('this is no frame\n[1,2]\n{"jsonrpc":"2.0","id":77,"method":"no/such"}\n')
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: project, mcpServers: [] })
  const say = (text: string) =>
    agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] })
  assert.equal((await say('hello')).stopReason, 'end_turn')
  const dying = say('wait').catch(() => undefined)
  await toolStarted
  child.stdin.end()
  assert.deepEqual(await exited, [0, null])
  await dying
  const lines = frames().trimEnd().split('\n')
  for (const line of lines) assert.equal(JSON.parse(line).jsonrpc, '2.0')
  const codes = lines.flatMap((line) => JSON.parse(line).error?.code ?? [])
  assert.deepEqual(codes.toSorted(), [-32600, -32601, -32700])
  assert.match(errors(), /printed/)
  assert.match(errors(), /written/)
  assert.deepEqual(
    rowsIn(home, "select state from turns where state <> 'done'").map(({ state }) => state),
    ['stopped'],
  )
})

test('--check says that the command can start', async (t) => {
  const { root } = homeWith(t)
  const { code, stdout } = await runInProcess(root, ['acp', '--check'])
  assert.deepEqual([code, stdout.includes('ready')], [0, true])
})
