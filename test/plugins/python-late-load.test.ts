/**
 * Plugins in Python whose import takes long: the gateway is ready before, and no turn and no message passes them by.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { suite, type TestContext, test } from 'node:test'
import { sleep } from '../../src/lib/timers.ts'
import { path, python, timeout, waitForExit, withoutPython } from '../hosts/support.ts'
import { startTestGateway, type TestGateway } from '../kit/start-gateway.ts'
import { conversation, rowsIn } from '../stories/support.ts'
import { writeFiles } from './loader-support.ts'
import { pythonPluginFiles } from './python-support.ts'

/** Its import ends when the file `gate` exists. */
const gatedImport = `import os, time
home = os.environ["HERMES_HOME"] + "/"
with open(home + "pid", "w") as file:
    file.write(str(os.getpid()))
while not os.path.exists(home + "gate"):
    time.sleep(0.02)
`

/** Returns the pid of the plugin's process; 0 before its import begins. */
function pidOf({ home }: TestGateway): number {
  const file = join(home.root, 'pid')
  return existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
}

async function startWithGate(t: TestContext, register: string, manifest: string) {
  const gateway = await startTestGateway(t, {
    startNow: false,
    config: { hooks: { python: python ?? 'python3' }, plugins: { enabled: ['slow'] } },
    prepare: (home) => writeFiles(home.plugins, pythonPluginFiles('slow', gatedImport + register, manifest)),
    gateway: { environment: { PATH: path, HOME: process.env['HOME'] } },
  })
  const start = async () => (await gateway.start()).initialConnectsDone()
  const openGate = () => writeFileSync(join(gateway.home.root, 'gate'), '')
  await start()
  return { gateway, start, openGate }
}

suite('a plugin in Python that is slow to import', { skip: withoutPython, timeout }, () => {
  test('delays turns, but neither readiness nor messages; a stop meanwhile loses nothing', async (t) => {
    const register = `def register(ctx):
    ctx.register_hook("pre_llm_call", lambda **_: {"context": "The plugin was here."})
    ctx.register_command("pid", lambda raw: f"pid {os.getpid()}", description="Tells the process")
`
    const { gateway, start, openGate } = await startWithGate(
      t,
      register,
      'name: slow\nprovides_hooks: [pre_llm_call]\n',
    )
    assert.equal((await fetch(`${gateway.current().url}/readyz`)).status, 200)
    await gateway.say('one')
    assert.equal(rowsIn(gateway.home, 'SELECT state FROM inbox')[0]?.['state'], 'queued')

    while (pidOf(gateway) === 0) await sleep(5)
    await gateway.stop()
    assert.deepEqual(
      gateway.log.filter((line) => JSON.parse(line).level === 'error'),
      [],
    )
    await waitForExit(pidOf(gateway))

    await start()
    const command = gateway.say('/pid', { chat: 'other' })
    openGate()
    await gateway.waitForReply('one')
    await command
    await gateway.waitForReply(/^pid \d+$/, 'other')
    assert.match(JSON.stringify(conversation(await gateway.modelRequest(0))), /The plugin was here\./)
    const events = gateway.log.map((line) => String(JSON.parse(line).event))
    assert.ok(events.lastIndexOf('gateway.ready') < events.indexOf('plugin.loaded'))
    assert.ok(events.indexOf('plugin.loaded') < events.indexOf('turn.started'))
  })

  test('decides about messages that arrive before', async (t) => {
    const register = `def register(ctx):
    ctx.register_hook("pre_gateway_dispatch", lambda **_: {"action": "skip", "reason": "not now"})
`
    const { gateway, openGate } = await startWithGate(t, register, 'name: slow\n')
    const said = gateway.say('one')
    openGate()
    await said
    await gateway.waitForLog('inbox.skipped')
    assert.deepEqual(gateway.replies(), [])
  })
})
