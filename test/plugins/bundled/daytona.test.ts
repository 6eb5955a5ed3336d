/**
 * The plugin for Daytona, in a whole gateway and alone, against a server that speaks its REST API.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDaytonaClient } from '../../../plugins/daytona/client.ts'
import { createSandbox } from '../../../plugins/daytona/sandbox.ts'
import { createScriptEnvironment } from '../../../src/agent/environments/scripts/script-environment.ts'
import { asArray, isRecord } from '../../../src/sdk.ts'
import { startDaytonaServer } from '../../kit/servers/daytona-server.ts'
import { hasResult } from '../../stories/support.ts'
import { startWithBundledPlugins } from './support.ts'

const never = new AbortController().signal
const request = { timeoutMs: 60_000, signal: never, maxOutputBytes: 10_000 }

function tempDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'daytona-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function placeOn(t: TestContext, { key = 'the-key' } = {}) {
  const server = await startDaytonaServer('the-key')
  const sandbox = createSandbox({
    client: () => createDaytonaClient({ url: server.url, key, organization: undefined }),
    name: 'hermes-one',
    sessionId: 'one',
    settings: () => ({
      ...{ image: 'debian:12', target: 'eu', cpu: 2, memoryGb: 5, diskGb: 50 },
      ...{ autoStopMinutes: 60, autoDeleteMinutes: -1 },
    }),
  })
  const cwd = tempDirectory(t)
  const { start, runScript } = sandbox
  const place = createScriptEnvironment({
    kind: 'daytona',
    cwd,
    start,
    runScript,
    stop: sandbox.sleep,
    retryMs: [1, 1],
  })
  t.after(async () => {
    await place.cleanup()
    await server[Symbol.asyncDispose]()
  })
  return { server, place, cwd }
}

test('commands and files of a conversation are in its sandbox', async (t) => {
  const server = await startDaytonaServer('the-key')
  t.after(() => server[Symbol.asyncDispose]())
  const cwd = tempDirectory(t)
  const calls = [
    { name: 'write_file', arguments: { path: 'note', content: 'from the file tool\n' } },
    { name: 'terminal', arguments: { command: 'pwd; cat note; exit 3' } },
  ]
  const gateway = await startWithBundledPlugins(
    t,
    { daytona: {} },
    {
      config: { terminal: { backend: 'daytona', cwd } },
      prepare: ({ root }) => {
        const variables = `DAYTONA_API_KEY=the-key\nDAYTONA_API_URL=${server.url}\nTERMINAL_DAYTONA_IMAGE=debian:12\n`
        writeFileSync(join(root, '.env'), variables, { mode: 0o600 })
      },
      model: (asked) => {
        const done = asArray(asked.body['messages']).filter((one) => isRecord(one) && one['role'] === 'tool').length
        const next = calls[done]
        return next === undefined ? { text: 'done' } : { toolCalls: [next] }
      },
    },
  )
  await gateway.say('do it')
  await gateway.waitForReply('done')
  const messages = JSON.stringify((await gateway.modelRequest(2)).body['messages'])
  assert.ok(messages.includes(`${cwd}\\\\nfrom the file tool`), messages.slice(-1_000))
  assert.deepEqual(
    [...server.sandboxes.values()].map(({ body }) => body['buildInfo']),
    [{ dockerfileContent: 'FROM debian:12\n' }],
  )
  await gateway.stop()
  assert.deepEqual(
    [...server.sandboxes.values()].map(({ state }) => state),
    ['stopped'],
  )
})

test('a sandbox is created as configured, and one that was stopped is started again', async (t) => {
  const { server, place, cwd } = await placeOn(t)
  assert.equal((await place.execute('pwd', request)).output, `${cwd}\n`)
  const created = server.sandboxes.get('hermes-one')
  assert.deepEqual(created?.body, {
    name: 'hermes-one',
    labels: { hermes_task_id: 'one', hermes_gateway: '1' },
    autoStopInterval: 60,
    autoDeleteInterval: -1,
    target: 'eu',
    buildInfo: { dockerfileContent: 'FROM debian:12\n' },
    ...{ cpu: 2, memory: 5, disk: 10 },
  })
  // Daytona stops a sandbox that is idle.
  if (created !== undefined) created.state = 'stopped'
  assert.equal((await place.execute('echo again', request)).output, 'again\n')
  assert.equal(server.calls.filter((call) => call === 'POST /sandbox').length, 1)
})

test('a command whose answer was lost is not run twice', async (t) => {
  const { server, place } = await placeOn(t)
  await place.start?.(never)
  // The upload of the command, and then its start.
  server.loseAnswers(1)
  assert.equal((await place.execute('echo x >>once; cat once', request)).output, 'x\n')
  server.loseAnswers(2)
  assert.equal((await place.execute('echo x >>twice; cat twice', request)).output, 'x\n')
})

test('a key that is refused is an error that names the variable, and is not in it', async (t) => {
  const { server, place } = await placeOn(t, { key: 'wrong-key' })
  await assert.rejects(place.execute('true', request), (error: Error & { code?: string; hint?: string }) => {
    assert.equal(error.code, 'environment/unreachable')
    assert.match(error.hint ?? '', /DAYTONA_API_KEY/)
    assert.doesNotMatch(String(error.stack), /wrong-key/)
    return true
  })
  assert.equal(server.calls.length, 1)
})

test('without a key the agent is told which variable is missing, and nothing runs here', async (t) => {
  const cwd = tempDirectory(t)
  const gateway = await startWithBundledPlugins(
    t,
    { daytona: {} },
    {
      config: { terminal: { backend: 'daytona', cwd } },
      model: (asked) =>
        hasResult(asked)
          ? { text: 'done' }
          : { toolCalls: [{ name: 'terminal', arguments: { command: 'touch here' } }] },
    },
  )
  await gateway.say('do it')
  await gateway.waitForReply('done')
  const messages = JSON.stringify((await gateway.modelRequest(1)).body['messages'])
  assert.match(messages, /DAYTONA_API_KEY/)
})
