/**
 * Kills a whole gateway while a command runs in another place. The turn goes on after the restart, and the command ran once.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openTestEngine } from '../kit/container-engine.ts'
import { sshdSkip, startSshd } from '../kit/servers/sshd.ts'
import { testChatGateway } from './chat-gateway.ts'

interface Place {
  readonly terminal: Readonly<Record<string, unknown>>
  /** Where the commands work, as this machine sees it. */
  readonly folder: string
  /** The command ends with the gateway. */
  readonly endsIt: boolean
}

const command = 'echo x >>once; sleep 4; echo x >>late'

async function testKill(t: TestContext, open: (home: string) => Promise<Place>): Promise<void> {
  const { home, chat, gateway, untilSent } = await testChatGateway(t, ({ body }) => {
    const messages = Array.isArray(body['messages']) ? body['messages'] : []
    if (messages.at(-1)?.role === 'tool') return { text: 'It is over.', delayMs: 1 }
    return { toolCalls: [{ name: 'terminal', arguments: { command } }], delayMs: 1 }
  })
  const { terminal, folder, endsIt } = await open(home)
  const file = join(home, 'config.yaml')
  const config = (await readFile(file, 'utf8')).replace(/^terminal: .*$/m, `terminal: ${JSON.stringify(terminal)}`)
  await writeFile(file, `${config}plugins: { enabled: [shed] }\n`, { mode: 0o600 })
  chat.say('ada', 'run it')
  gateway.start()
  await gateway.untilTrue('the start of the command', () => existsSync(join(folder, 'once')))
  await gateway.kill()
  await gateway.restart()
  await untilSent('the answer', (messages) => messages.some(({ text }) => text.includes('It is over.')))
  // Longer than the command takes.
  if (endsIt) await wait(5_000)
  await gateway.stop()
  assert.equal(await readFile(join(folder, 'once'), 'utf8'), 'x\n')
  if (endsIt) assert.equal(existsSync(join(folder, 'late')), false)
}

const pluginSource = `
import { execFile } from 'node:child_process'
export function register(ctx) {
  ctx.registerEnvironment('shed', ({ cwd }) => ({
    kind: 'shed',
    cwd,
    isContainer: false,
    start: async () => undefined,
    runScript: (script) =>
      new Promise((resolve) => execFile('sh', ['-c', script], (error, stdout) => resolve(stdout))),
    stop: async () => undefined,
  }))
}
`

test('a command in a place of a plugin runs once over a kill of the gateway', { timeout: 120_000 }, (t) =>
  testKill(t, async (home) => {
    const plugin = join(home, 'plugins', 'shed')
    const folder = join(home, 'work')
    for (const directory of [plugin, folder]) await mkdir(directory, { recursive: true, mode: 0o700 })
    await writeFile(join(plugin, 'plugin.yaml'), 'name: shed\nversion: 1.0.0\n')
    await writeFile(join(plugin, 'index.ts'), pluginSource)
    return { terminal: { backend: 'shed', cwd: folder }, folder, endsIt: false }
  }),
)

test('a command over ssh runs once and ends when the gateway is killed', {
  skip: sshdSkip(),
  timeout: 120_000,
}, async (t) => {
  const sshd = await startSshd()
  t.after(() => sshd[Symbol.asyncDispose]())
  const { port, user, key, knownHosts, directory: folder } = sshd
  await testKill(t, async () => ({
    terminal: {
      ...{ backend: 'ssh', ssh_host: '127.0.0.1', ssh_port: port, ssh_user: user, ssh_key: key },
      ...{ ssh_known_hosts: knownHosts, ssh_cwd: folder },
    },
    folder,
    endsIt: true,
  }))
})

test('a command in a container runs once and ends when the gateway is killed', { timeout: 120_000 }, async (t) => {
  const { engine, reason } = await openTestEngine()
  if (engine === undefined) return t.skip(`no engine runs containers here: ${reason}`)
  t.after(() => engine.close())
  const program = join(engine.directory, engine.name)
  const variables = Object.entries(engine.env).map(([name, value]) => `export ${name}='${value}'`)
  await writeFile(program, `#!/bin/sh\n${variables.join('\n')}\nexec ${engine.name} "$@"\n`, { mode: 0o700 })
  await testKill(t, async (home) => ({
    terminal: { backend: 'docker', ...engine.settings, docker_binary: program },
    folder: join(home, 'sandboxes', 'docker', 'shared', 'workspace'),
    endsIt: true,
  }))
  const left = await engine.containers('hermes-gateway=1')
  assert.deepEqual(
    left.filter(({ state }) => state === 'running'),
    [],
  )
})
