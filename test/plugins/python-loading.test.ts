/**
 * Loading plugins in Python: what keeps one from being loaded is said with its place, and a process that ends comes back
 * with the same registrations, or is disabled.
 */
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, type TestContext, test } from 'node:test'
import { errorCatalogue } from '../../src/lib/error-catalogue.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { timeout, withoutPython } from '../hosts/support.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { tempHome } from '../kit/temp-home.ts'
import { environment, type PythonSetup, pythonPluginFiles, startPythonPlugins } from './python-support.ts'
import { dispatchContext } from './support.ts'

const options = { skip: withoutPython, timeout }
const ending = { response_text: 'r', session_id: 's', model: 'm', platform: 'web' }

async function reasonOf(t: TestContext, text: string, more: Partial<PythonSetup> = {}) {
  const made = await startPythonPlugins(t, { plugins: { snake: text }, ...more })
  const { state, reason, registered } = made.report('snake')
  assert.deepEqual([state, registered], ['failed', []])
  assert.equal(made.hooks.hasListeners('pre_tool_call'), false)
  for (const { host } of made.hosts) assert.equal(host.status().state, 'stopped')
  return reason.replaceAll(made.directory, '')
}

suite('a plugin in Python that cannot be loaded', options, () => {
  const hooked = 'def register(ctx):\n    ctx.register_hook("pre_tool_call", print)\n'

  test('reports the reason with file and line, and leaves no registrations', async (t) => {
    assert.equal(await reasonOf(t, `${hooked}    raise KeyError("x")\n`), "/snake/__init__.py:3: KeyError: 'x'")
    assert.match(
      await reasonOf(t, 'import json\nimport no_such_thing\n'),
      /^\/snake\/__init__\.py:2: ModuleNotFoundError: No module/,
    )
    assert.match(await reasonOf(t, 'def register(ctx)\n'), /^\/snake\/__init__\.py:1: SyntaxError/)
    assert.match(await reasonOf(t, 'x = 1\n'), /\/snake\/__init__\.py: AttributeError: .*`register`/)
    assert.match(
      await reasonOf(t, `import sys\n${hooked}    sys.exit(2)\n`),
      /^\/snake\/__init__\.py:4: .*sys\.exit\(2\)/,
    )
    assert.match(await reasonOf(t, `import os\n${hooked}    os._exit(2)\n`), /__init__\.py: .*code 2/)
    assert.match(await reasonOf(t, `async ${hooked}    raise OSError("no")\n`), /__init__\.py:3: OSError: no/)
  })

  test('is told which register functions exist when it misspells one', async (t) => {
    assert.match(
      await reasonOf(t, 'def register(ctx):\n    ctx.register_hooks("pre_tool_call", print)\n'),
      /^\/snake\/__init__\.py:2: AttributeError: .*\bctx\.register_hooks\b.* register_background_daemon, register_command, register_hook, register_memory_provider, register_middleware, register_skill, register_system_prompt_section, register_tool$/,
    )
    assert.match(
      await reasonOf(t, 'def register(ctx):\n    ctx.register_hook("pre_tool_call", 7)\n'),
      /^\/snake\/__init__\.py:2: TypeError: .*\bint\b/,
    )
  })

  test('is loaded with a warning when it uses registrations of Hermes that do not exist here', async (t) => {
    const { report, hooks, log } = await startPythonPlugins(t, {
      plugins: {
        snake: `def register(ctx):
    handle = ctx.register_cli_command("weather", help="Weather", setup_fn=print, handler_fn=print)
    assert handle.name == "weather" and handle.remove() is False
    @ctx.register_web_search_provider("weather")
    def decorated():
        pass
    assert ctx.register_skill("weather", "skills/weather", "How to ask for the weather").name == "weather"
    assert ctx.register_platform(name="irc", label="IRC").name == "irc"
    assert ctx.has_capability("anything") is False
    ctx.register_hook("pre_tool_call", lambda **_: {"action": "block", "message": "checked"})
`,
      },
    })
    const { state, warnings, registered } = report('snake')
    assert.deepEqual([state, warnings.length, registered.length], ['loaded', 3, 2])
    assert.equal(hooks.hasListeners('pre_tool_call'), true)
    assert.equal(log.records.filter(({ fields }) => fields['event'] === 'plugin.warning').length, 3)
  })

  test('gets a ValueError for a name that is taken', async (t) => {
    const { report } = await startPythonPlugins(t, {
      plugins: {
        snake: `def register(ctx):
    nothing = lambda: None
    ctx.register_background_daemon("clock", nothing, nothing)
    try:
        ctx.register_background_daemon("clock", nothing, nothing)
    except ValueError as error:
        ctx.register_hook(error.code, print)
`,
      },
    })
    const names = report('snake').registered.map(({ name }) => name)
    assert.deepEqual(names, ['clock', 'plugins/daemon-taken'], report('snake').reason)
  })

  test('finds the modules of Hermes that plugins use, unless it has its own', async (t) => {
    const { report, home } = await startPythonPlugins(t, {
      plugins: {
        snake: `import json
from hermes_constants import get_hermes_home, get_config_path
from hermes_cli.config import get_hermes_home as same
from hermes_cli.plugins import PluginContext
from tools.registry import tool_error, tool_result
from agent.memory_provider import MemoryProvider
def register(ctx):
    assert isinstance(ctx, PluginContext) and same is get_hermes_home
    assert json.loads(tool_error("no", code=1)) == {"error": "no", "code": 1}
    assert json.loads(tool_result({"a": 1})) == {"a": 1}
    class Own(MemoryProvider):
        pass
    ctx.register_hook(str(get_hermes_home()), print)
    ctx.register_hook(str(get_config_path()), print)
`,
        own: `def register(ctx):
    import agent, tools
    ctx.register_hook(tools.OWN + agent.OWN, print)
`,
      },
      files: { 'own/tools.py': 'OWN = "mine"\n', 'own/agent/__init__.py': 'OWN = " too"\n' },
    })
    const names = (id: string) => report(id).registered.map(({ name }) => name)
    assert.deepEqual(names('snake'), [home, join(home, 'config.yaml')], report('snake').reason)
    assert.deepEqual(names('own'), ['mine too'], report('own').reason)
  })

  test('is stopped after the timeout for loading', async (t) => {
    const reason = await reasonOf(t, `${hooked}    while True:\n        pass\n`, { limits: { loadTimeoutMs: 300 } })
    assert.match(reason, /did not finish loading in time/)
  })

  test('is listed with the reason when there is no Python, or one that is too old', async (t) => {
    const folder = tempHome(t)
    const old = join(folder, 'python-old')
    writeFileSync(
      old,
      `#!/bin/sh\necho '{"t":"startupError","reason":"it is Python 3.8.1, handlers need 3.9 or newer"}' >&4\nexit 1\n`,
    )
    chmodSync(old, 0o755)
    const at = (command: string) => ({ launchOptionsOf: () => ({ env: environment, command }) })
    assert.match(await reasonOf(t, hooked, at(join(folder, 'nowhere'))), /\/nowhere\b/)
    assert.match(await reasonOf(t, hooked, at(old)), /\b3\.8\.1\b.*\b3\.9\b/)
  })

  test('does not prevent other plugins from being loaded', async (t) => {
    const good =
      'def register(ctx):\n    ctx.register_hook("transform_llm_output", lambda response_text: response_text + "!")\n'
    const made = await startPythonPlugins(t, { plugins: { bad: 'raise ValueError("no")\n', good } })
    assert.deepEqual([made.report('bad').state, made.report('good').state], ['failed', 'loaded'])
    assert.deepEqual(await made.hooks.collect('transform_llm_output', dispatchContext, () => ending), [
      { owner: 'good', value: 'r!' },
    ])
  })
})

suite('a plugin in Python', options, () => {
  test('is a package whose modules take precedence over modules of the gateway with the same name', async (t) => {
    const files = {
      ...pythonPluginFiles(
        'my-snake',
        `from . import wire
from .deep.er import depth
import context
import hermes_host_of_mine
async def register(ctx):
    ctx.register_hook("transform_llm_output", tell)
def tell(**_):
    import plugins, call
    return " ".join([__name__, wire.NAME, depth(), context.NAME, hermes_host_of_mine.NAME, plugins.NAME, call.NAME])
`,
      ),
      'my-snake/wire.py': 'NAME = __name__\n',
      'my-snake/context.py': 'NAME = "context"\n',
      'my-snake/plugins.py': 'NAME = "plugins"\n',
      'my-snake/call.py': 'NAME = "call"\n',
      'my-snake/hermes_host_of_mine.py': 'NAME = "mine"\n',
      'my-snake/deep/__init__.py': '',
      'my-snake/deep/er.py': 'from ..wire import NAME\ndef depth():\n    return "deep in " + NAME\n',
    }
    const made = await startPythonPlugins(t, { files, loading: { plugins: { enabled: ['my-snake'] } } })
    assert.equal(made.report('my-snake').reason, '')
    const [answer] = await made.hooks.collect('transform_llm_output', dispatchContext, () => ending)
    assert.equal(
      answer?.value,
      'hermes_plugin_my_snake hermes_plugin_my_snake.wire deep in hermes_plugin_my_snake.wire context mine plugins call',
    )
  })

  test('runs in its own process', async (t) => {
    const text =
      'import os\ndef register(ctx):\n    ctx.register_hook("transform_llm_output", lambda: str(os.getpid()))\n'
    const made = await startPythonPlugins(t, { plugins: { one: text, two: text } })
    const answers = await made.hooks.collect('transform_llm_output', dispatchContext, () => ending)
    assert.deepEqual(
      answers.map(({ value }) => Number(value)),
      made.hosts.map(({ host }) => host.status().pid),
    )
    assert.equal(new Set(answers.map(({ value }) => value)).size, 2)
  })

  test('that registers the name of an existing tool or command is loaded without it, unless it requires override', async (t) => {
    const failingRegistry = (code: 'plugins/tool-taken' | 'plugins/command-taken') => ({
      register: () => {
        throw new HermesError(code, '(terminal)')
      },
      check: () => undefined,
    })
    const services = {
      tools: failingRegistry('plugins/tool-taken'),
      commands: failingRegistry('plugins/command-taken'),
    }
    const text = (override: string) => `def register(ctx):
    ctx.register_tool("terminal", "mine", {}, print, override=${override})
    ctx.register_command("new", print)
    ctx.register_hook("transform_llm_output", print)
`
    const made = await startPythonPlugins(t, { plugins: { snake: text('False') }, services })
    const { state, warnings, registered } = made.report('snake')
    assert.equal(state, 'loaded')
    assert.deepEqual(registered, [{ kind: 'hook', name: 'transform_llm_output' }])
    assert.equal(warnings.length, 2)
    assert.ok(warnings[0]?.includes(errorCatalogue['plugins/tool-taken'].meaning))
    assert.ok(warnings[1]?.includes(errorCatalogue['plugins/command-taken'].meaning))
    const { message } = new HermesError('plugins/tool-taken', '(terminal)')
    assert.ok((await reasonOf(t, text('True'), { services })).endsWith(`__init__.py:2: PermissionError: ${message}`))
  })

  test('is restarted at the next call with the same registrations, and differences are reported', async (t) => {
    const text = `import os, sys
file = os.environ["HERMES_HOME"] + "/second"
second = os.path.exists(file)
def die(**_):
    open(file, "w").close()
    os._exit(1)
def register(ctx):
    ctx.register_hook("transform_llm_output", lambda: "second" if second else "first")
    ctx.register_hook("pre_tool_call" if not second else "post_tool_call", die)
`
    const made = await startPythonPlugins(t, { plugins: { snake: text } })
    const values = async () =>
      (await made.hooks.collect('transform_llm_output', dispatchContext, () => ending)).map(({ value }) => value)
    assert.deepEqual(await values(), ['first'])
    const { registered } = made.report('snake')
    const keys = {
      tool_name: 'x',
      args: {},
      task_id: '',
      session_id: '',
      tool_call_id: '',
      turn_id: '',
      api_request_id: '',
      role: 'owner' as const,
    }
    const die = () => made.hooks.collect('pre_tool_call', dispatchContext, () => ({ ...keys, middleware_trace: [] }))
    await die()
    await made.log.waitForEvent('plugin.process_exited')
    assert.deepEqual(await values(), ['second'])
    const { state, warnings, registered: after } = made.report('snake')
    assert.equal(state, 'loaded')
    assert.deepEqual(after, registered)
    assert.deepEqual(
      warnings.map((warning) => /\bhook (\w+) 1\b/.exec(warning)?.[1]),
      ['post_tool_call', 'pre_tool_call'],
    )
    // A callback that is no longer registered fails like any other.
    assert.deepEqual(await die(), [])
    assert.deepEqual(await values(), ['second'])
  })

  test('that exits repeatedly is restarted with a growing delay, then disabled until it is loaded again', async (t) => {
    const time = createManualClock()
    const text = `import os
def die(response_text):
    if response_text == "die":
        os._exit(1)
    return "alive"
def register(ctx):
    ctx.register_hook("transform_llm_output", die)
`
    const made = await startPythonPlugins(t, { plugins: { snake: text }, clock: time.now, random: () => 1 })
    const ask = async (what: string) =>
      (
        await made.hooks.collect('transform_llm_output', dispatchContext, () => ({ ...ending, response_text: what }))
      ).map(({ value }) => value)
    const starts = () => made.hosts.at(-1)?.host.status().starts
    assert.deepEqual(await ask('r'), ['alive'])
    await ask('die')
    assert.deepEqual(await ask('r'), [])
    assert.equal(starts(), 1)
    time.advance(1_000)
    assert.deepEqual(await ask('r'), ['alive'])
    assert.equal(starts(), 2)
    // A successful call resets the count.
    await ask('die')
    time.advance(1_000)
    await ask('die')
    time.advance(1_000)
    assert.deepEqual(await ask('r'), [])
    time.advance(1_000)
    assert.equal(starts(), 3)
    await ask('die')
    const { state, reason } = made.report('snake')
    assert.equal(state, 'failed')
    assert.match(reason, /\b3\b.*\b1\b/)
    assert.deepEqual(
      made.loader.failures().map(({ id, state }) => [id, state]),
      [['snake', 'failed']],
    )
    time.advance(1_000_000)
    assert.deepEqual(await ask('r'), [])

    await made.loader.sync()
    assert.equal(made.report('snake').state, 'loaded')
    assert.deepEqual(await ask('r'), ['alive'])
    assert.equal(made.hosts.length, 2)
  })

  test('that cannot be loaded again is disabled like one that exits', async (t) => {
    const text = `import os
file = os.environ["HERMES_HOME"] + "/second"
if os.path.exists(file):
    raise RuntimeError("once is enough")
def die(**_):
    open(file, "w").close()
    os._exit(1)
def register(ctx):
    ctx.register_hook("transform_llm_output", die)
`
    const made = await startPythonPlugins(t, { plugins: { snake: text } })
    const ask = () => made.hooks.collect('transform_llm_output', dispatchContext, () => ending)
    for (let n = 0; n < 5; n += 1) assert.deepEqual(await ask(), [])
    const { state, reason } = made.report('snake')
    assert.equal(state, 'failed')
    assert.match(reason, /once is enough/)
  })
})

suite('several plugins in Python', options, () => {
  test('are loaded beside each other, and register in the order of their names', async (t) => {
    // Each import waits until the modules of all plugins are being imported.
    const body = (name: string, delay: number) => `import os, time
open(os.path.join(os.environ["HERMES_HOME"], "${name}"), "w").close()
end = time.monotonic() + 20
while not all(os.path.exists(os.path.join(os.environ["HERMES_HOME"], one)) for one in "abc"):
    assert time.monotonic() < end
    time.sleep(0.01)
time.sleep(${delay})
def register(ctx):
    others = [one for one in "abc" if ctx.has_plugin(one)]
    ctx.register_hook("transform_llm_output", lambda **_: "${name} after " + "".join(others))
`
    const { hooks, report } = await startPythonPlugins(t, {
      plugins: { a: body('a', 0.3), b: body('b', 0.1), c: body('c', 0) },
    })
    assert.deepEqual(
      ['a', 'b', 'c'].map((id) => report(id).reason),
      ['', '', ''],
    )
    const output = { response_text: '', session_id: 's', turn_id: 't', model: 'm', platform: 'web' }
    const results = await hooks.collect('transform_llm_output', dispatchContext, () => output)
    assert.deepEqual(
      results.map(({ value }) => value),
      ['a after ', 'b after a', 'c after ab'],
    )
  })
})
