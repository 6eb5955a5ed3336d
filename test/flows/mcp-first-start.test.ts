/**
 * The first start of MCP servers: many at once, in a home in which nothing exists yet.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { agentConfig } from '../../src/agent/config.ts'
import { mcpConfig } from '../../src/agent/mcp/config.ts'
import { readEnvironment } from '../../src/config/environment.ts'
import { createServerOpener } from '../../src/flows/mcp-servers.ts'
import { createHomeLayout, prepareHome } from '../../src/lib/home.ts'
import { silentLog } from '../../src/lib/log.ts'
import { sandboxSkip } from '../agent/sandbox/victim.ts'
import { tempHome } from '../kit/temp-home.ts'

/** Says in which directory it runs. */
const program = String.raw`printf '{"jsonrpc":"2.0","method":"started","params":{"cwd":"%s"}}\n' "$(pwd)"; cat > /dev/null`

/** An opener of servers in a home that is empty. */
function newHome(t: TestContext, terminal: Readonly<Record<string, unknown>> = {}) {
  const home = createHomeLayout(join(tempHome(t), 'new'))
  prepareHome(home)
  const settings = { terminal: agentConfig.terminal.parse(terminal), mcp_servers: {} }
  const environment = readEnvironment(home.envFile, { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home.root })
  const opener = createServerOpener({
    home,
    settings: () => settings,
    environment: () => environment,
    secrets: { set: () => undefined },
    openProxy: async () => undefined,
    log: silentLog,
  })
  return { home, opener }
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

for (const kind of ['off', 'auto', 'bwrap', 'landlock'] as const) {
  const skip = kind === 'off' || kind === 'auto' ? false : await sandboxSkip(kind)
  test(`ten servers that start at once in a new home all run, with sandbox ${kind}`, { skip }, async (t) => {
    const { home, opener } = newHome(t, kind === 'off' ? {} : { sandbox: kind })
    const names = Array.from({ length: 10 }, (_, index) => `server${index}`)
    const directories = await Promise.all(names.map((name) => startIn(opener, name, { sandbox: kind !== 'off' })))
    assert.deepEqual(
      directories,
      names.map(() => home.workspace),
    )
  })
}

for (const kind of ['bwrap', 'landlock'] as const)
  test(`a script that the sandbox hides is named, with the setting that shows it (${kind})`, {
    skip: await sandboxSkip(kind),
  }, async (t) => {
    const { home, opener } = newHome(t, { sandbox: kind })
    const script = join(home.root, 'server.sh')
    writeFileSync(script, program)
    await assert.rejects(startIn(opener, 'a', { args: [script], sandbox: true }), (error) => {
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
