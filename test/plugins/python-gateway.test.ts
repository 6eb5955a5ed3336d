/**
 * Plugins in Python in a whole gateway: tools, commands, refusals and stops in conversations; what they see of the
 * environment; and what happens to them when they are disabled or cannot run.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { suite, type TestContext, test } from 'node:test'
import { path, python, timeout, waitForExit, withoutPython } from '../hosts/support.ts'
import { startTestGateway, type TestGatewayOptions } from '../kit/start-gateway.ts'
import { type Files, writeFiles } from './loader-support.ts'
import { pythonPluginFiles } from './python-support.ts'

const options = { skip: withoutPython, timeout }

async function withPlugins(t: TestContext, files: Files, plugins = {}, more: TestGatewayOptions = {}) {
  const enabled = Object.keys(files).flatMap((file) => (file.endsWith('plugin.yaml') ? [file.split('/')[0]] : []))
  const hooks = { python: python ?? 'python3' }
  const gateway = await startTestGateway(t, {
    ...more,
    config: { hooks, plugins: { enabled, ...plugins }, ...more.config },
    prepare(home) {
      writeFiles(home.plugins, files)
      writeFileSync(home.envFile, 'MY_KEY=secret-of-mine\nOTHER_KEY=secret-of-others\n', { mode: 0o600 })
    },
    gateway: { environment: { PATH: path, HOME: process.env['HOME'] } },
  })
  const report = async (id: string) => (await gateway.current().plugins()).find((one) => one.id === id)
  return { gateway, report }
}

suite('in a gateway, a plugin in Python', options, () => {
  test('registers a tool and a command, blocks a tool, and is removed when it is disabled', async (t) => {
    const text = `import json, os
SCHEMA = {"name": "weather", "description": "Tells the weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
def weather(args, **kwargs):
    return json.dumps({"city": args["city"], "sky": "clear"})
def careful(tool_name, args, **_):
    if tool_name == "terminal":
        return {"action": "block", "message": "Not today."}
def register(ctx):
    ctx.register_tool("weather", "world", SCHEMA, weather)
    ctx.register_command("pid", lambda raw: f"pid {os.getpid()} {raw}", description="Tells the process")
    ctx.register_hook("pre_tool_call", careful)
`
    const { gateway, report } = await withPlugins(
      t,
      pythonPluginFiles('sky', text),
      {},
      {
        replies: [
          {
            toolCalls: [
              { name: 'weather', arguments: { city: 'Oslo' } },
              { name: 'terminal', arguments: { command: 'ls' } },
            ],
          },
          { text: 'Clear skies' },
          { text: 'I cannot tell' },
        ],
      },
    )
    assert.deepEqual((await report('sky'))?.registered, [
      { kind: 'tool', name: 'weather' },
      { kind: 'command', name: 'pid' },
      { kind: 'hook', name: 'pre_tool_call' },
    ])
    await gateway.say('weather?')
    await gateway.waitForReply('Clear skies')
    const asked = JSON.stringify((await gateway.modelRequest(1)).body)
    assert.match(asked, /\\"city\\": \\"Oslo\\", \\"sky\\": \\"clear\\"/)
    assert.match(asked, /Not today\./)
    await gateway.say('/pid now')
    const { text: reply } = await gateway.waitForReply(/^pid \d+ now$/)
    const pid = Number(reply.split(' ')[1])

    gateway.configure({ plugins: { enabled: [] } })
    await gateway.waitForLog(/plugin\.unloaded.*sky/)
    await waitForExit(pid)
    await gateway.say('/new', { chat: 'other' })
    await gateway.waitForReply('New conversation', 'other')
    await gateway.say('weather?', { chat: 'other' })
    await gateway.waitForReply('I cannot tell', 'other')
    assert.doesNotMatch(JSON.stringify((await gateway.modelRequest(2)).body), /Tells the weather/)
  })

  test('receives the whole environment, or only the variables in its manifest', async (t) => {
    const text = `import json, os
with open(os.environ["HERMES_HOME"] + "/seen", "w") as file:
    json.dump(dict(os.environ), file)
def register(ctx):
    pass
`
    const manifest = 'name: looker\nrequires_env: [MY_KEY]\noptional_env: [NOT_SET]\n'
    for (const env of ['all', 'declared']) {
      const { gateway } = await withPlugins(t, pythonPluginFiles('looker', text, manifest), { env })
      const seen: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(gateway.home.root, 'seen'), 'utf8'))
      assert.equal(seen['MY_KEY'], 'secret-of-mine')
      assert.equal(seen['OTHER_KEY'], env === 'all' ? 'secret-of-others' : undefined)
      assert.deepEqual([seen['HERMES_HOME'], seen['PATH']], [gateway.home.root, path])
    }
  })

  test('is listed with the reason if Python is missing, and the gateway works', async (t) => {
    const { gateway, report } = await withPlugins(
      t,
      pythonPluginFiles('sky', 'def register(ctx):\n    pass\n'),
      {},
      {
        replies: [{ text: 'Hello' }],
        config: { hooks: { python: '/nowhere/python3' } },
      },
    )
    const { state, reason } = (await report('sky')) ?? {}
    assert.equal(state, 'failed')
    assert.match(reason ?? '', /\/nowhere\/python3\b/)
    await gateway.say('hi')
    await gateway.waitForReply('Hello')
  })

  test('that is killed during a turn does not affect the turn', async (t) => {
    const text = `import os
def around(args, next_call, **_):
    next_call(args)
    os._exit(1)
def register(ctx):
    ctx.register_middleware("tool_execution", around)
    ctx.register_middleware("llm_execution", lambda request, next_call, **_: next_call(request))
`
    const { gateway } = await withPlugins(
      t,
      pythonPluginFiles('brittle', text),
      {},
      {
        replies: [
          { toolCalls: [{ name: 'terminal', arguments: { command: 'echo once >> count' } }] },
          { text: 'Done' },
        ],
      },
    )
    await gateway.say('go')
    await gateway.waitForReply('Done')
    await gateway.waitForLog('plugin.process_exited')
    assert.equal(readFileSync(join(gateway.home.root, 'count'), 'utf8'), 'once\n')
  })

  test('that waits for a tool does not delay a stop of the turn', async (t) => {
    const text = `def around(args, next_call, **_):
    print("the tool is on its way")
    try:
        return next_call(args)
    except Exception:
        print("swallowed")
        return "swallowed"
def register(ctx):
    ctx.register_middleware("tool_execution", around)
`
    const { gateway } = await withPlugins(
      t,
      pythonPluginFiles('patient', text),
      {},
      {
        replies: [{ toolCalls: [{ name: 'terminal', arguments: { command: 'echo begun > begun; sleep 60' } }] }],
      },
    )
    await gateway.say('go')
    await gateway.waitForLog('the tool is on its way')
    await gateway.say('/stop')
    await gateway.waitForReply(/[Ss]topped/)
    assert.equal(gateway.log.filter((line) => line.includes('swallowed')).length, 0)
  })
})
