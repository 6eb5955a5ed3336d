/**
 * The first start of MCP servers: many at once, in a home in which nothing exists yet.
 */
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { agentConfig } from '../../src/agent/config.ts'
import { mcpConfig } from '../../src/agent/mcp/config.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { createServerOpener } from '../../src/flows/mcp/mcp-servers.ts'
import { createHomeLayout, prepareHome } from '../../src/lib/home.ts'
import { spawnFailure } from '../../src/lib/spawn-failure.ts'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import { createRecordingLog } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'

/** Says in which directory it runs. */
const program = String.raw`printf '{"jsonrpc":"2.0","method":"started","params":{"cwd":"%s"}}\n' "$(pwd)"; cat > /dev/null`

/** An opener of servers in a home that is empty. */
function newHome(t: TestContext, terminal: Readonly<Record<string, unknown>> = {}) {
  const home = createHomeLayout(join(tempHome(t), 'new'))
  prepareHome(home)
  const settings = { terminal: agentConfig.terminal.parse(terminal), mcp_servers: {} }
  const environment = readEnvironment(home.envFile, { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home.root })
  const log = createRecordingLog()
  const opener = createServerOpener({
    home,
    settings: () => settings,
    environment: () => environment,
    secrets: { set: () => undefined },
    openProxy: async () => undefined,
    log,
  })
  return { home, opener, log }
}

const serverOf = (settings: Readonly<Record<string, unknown>>) =>
  mcpConfig.mcp_servers.parse({ server: { command: '/bin/sh', args: ['-c', program], ...settings } })['server'] ??
  assert.fail()

/** Starts the server and resolves with the directory in which it says it runs. */
async function startIn(
  opener: ReturnType<typeof createServerOpener>,
  name: string,
  settings: object,
): Promise<unknown> {
  const transport = await opener.open(name, serverOf({ ...settings }), () => undefined)
  const started = Promise.withResolvers<unknown>()
  transport.onmessage = (message) => started.resolve('params' in message ? message.params?.['cwd'] : undefined)
  // Rejected also while the start fails with a better reason.
  started.promise.catch(() => undefined)
  transport.onclose = () => started.reject(new Error('the server ended'))
  try {
    await transport.start()
    return await started.promise
  } finally {
    await transport.close()
  }
}

// Seatbelt exists on macOS only: elsewhere the sandbox is missing.
for (const kind of ['off', 'auto', 'bwrap', 'landlock', 'seatbelt'] as const) {
  const skip = kind === 'bwrap' || kind === 'landlock' ? await sandboxSkip(kind) : false
  test(`ten servers that start at once in a new home all run, with sandbox ${kind}`, { skip }, async (t) => {
    const { home, opener, log } = newHome(t, kind === 'off' ? {} : { sandbox: kind })
    const names = Array.from({ length: 10 }, (_, index) => `server${index}`)
    const directories = await Promise.all(names.map((name) => startIn(opener, name, { sandbox: kind !== 'off' })))
    assert.deepEqual(
      directories,
      names.map(() => home.workspace),
    )
    const prepared = log.records.filter(({ fields }) => /^sandbox\.(?:ready|missing)$/.test(String(fields['event'])))
    assert.equal(prepared.length, kind === 'off' ? 0 : 1)
  })
}

test('each server in a sandbox has a /tmp of its own', { skip: await sandboxSkip('bwrap') }, async (t) => {
  const { opener } = newHome(t, { sandbox: 'bwrap' })
  const script = String.raw`mkdir "/tmp/$0" && printf '{"jsonrpc":"2.0","method":"m","params":{"cwd":"%s"}}\n' "$(echo /tmp/[ab])"; cat > /dev/null`
  const seen = await Promise.all(['a', 'b'].map((name) => startIn(opener, name, { args: ['-c', script, name] })))
  assert.deepEqual(seen, ['/tmp/a', '/tmp/b'])
})

test('a sandbox whose program is gone is named, not the program of the server', async (t) => {
  const { home } = newHome(t)
  const program = join(home.root, 'bwrap')
  const failure = spawnFailure(Object.assign(new Error('spawn ENOENT'), { code: 'ENOENT' }), {
    program,
    cwd: home.root,
    sandbox: 'bwrap',
  })
  assert.equal(failure.message, `the sandbox (bwrap) cannot be started: there is no program ${program}`)
})

test('a working directory of the gateway that was removed is created for the next server', async (t) => {
  const { home, opener } = newHome(t)
  for (let time = 0; time < 2; time += 1) {
    assert.equal(await startIn(opener, 'a', { sandbox: false }), home.workspace)
    rmSync(home.workspace, { recursive: true })
  }
})

for (const kind of ['bwrap', 'landlock'] as const)
  test(`a script that the sandbox hides is named, with the setting that shows it (${kind})`, {
    skip: await sandboxSkip(kind),
  }, async (t) => {
    const { home, opener } = newHome(t, { sandbox: kind })
    const script = join(home.root, 'server.sh')
    writeFileSync(script, program)
    for (const arg of [script, relative(home.workspace, script), `--script=${script}`])
      await assert.rejects(startIn(opener, 'a', { args: [arg], sandbox: true }), (error) => {
        assert.ok(error instanceof Error)
        assert.ok(error.message.includes(`${script} is hidden by the sandbox`), error.message)
        assert.match(error.message, /terminal\.sandbox_read/)
        return true
      })
  })

test('the failure of a start says whether the program or the working directory is missing', async (t) => {
  const { home, opener } = newHome(t)
  const missing = join(home.root, 'missing')
  await assert.rejects(startIn(opener, 'a', { sandbox: false, cwd: missing }), {
    message: `the working directory ${missing} does not exist`,
  })
  await assert.rejects(startIn(opener, 'b', { sandbox: false, command: missing }), {
    message: `there is no program ${missing}`,
  })
})
