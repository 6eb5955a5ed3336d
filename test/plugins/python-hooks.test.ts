/**
 * What plugins in Python register beside middleware, and what they ask of the gateway.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { HermesError } from '../../src/lib/errors.ts'
import { withTimeout } from '../../src/lib/timers.ts'
import type { PluginCommand, PluginTool } from '../../src/plugins/contract.ts'
import { eventPayload } from '../../src/plugins/extension-points/event-payload.ts'
import { timeout, withoutPython } from '../hosts/support.ts'
import { type PythonSetup, startPythonPlugins } from './python-support.ts'
import { dispatchContext } from './support.ts'

const options = { skip: withoutPython, timeout }

const toolKeys = {
  tool_name: 'terminal',
  args: { command: 'ls' },
  task_id: 't',
  session_id: 's',
  tool_call_id: 'c',
  turn_id: 'u',
  api_request_id: 'r',
  role: 'owner' as const,
  middleware_trace: [],
}

suite('hooks in Python', options, () => {
  test('receive keyword arguments: all, or only those in their signature', async (t) => {
    const { hooks } = await startPythonPlugins(t, {
      plugins: {
        snake: `import functools
class Watcher:
    def watch(self, tool_name):
        return {"action": "modify", "args": {"bound": tool_name}}
    async def __call__(self, *, session_id):
        return {"action": "modify", "args": {"called": session_id}}
def all_of_them(**kwargs):
    return {"action": "modify", "args": {"all": sorted(kwargs)}}
async def narrow(task_id, tool_name="x", unknown=7):
    return {"action": "modify", "args": {"narrow": [task_id, tool_name, unknown]}}
def partial(mark, args, **_):
    return {"action": "modify", "args": {"partial": [mark, args]}}
def register(ctx):
    for callback in (all_of_them, narrow, Watcher().watch, Watcher(), functools.partial(partial, "!"), lambda: None):
        ctx.register_hook("pre_tool_call", callback)
`,
      },
    })
    const answers = await hooks.collect('pre_tool_call', dispatchContext, () => toolKeys)
    assert.deepEqual(
      answers.map(({ value }) => Object(value).args),
      [
        { all: [...Object.keys(toolKeys), 'route', 'telemetry_schema_version'].sort() },
        { narrow: ['t', 'terminal', 7] },
        { bound: 'terminal' },
        { called: 's' },
        { partial: ['!', { command: 'ls' }] },
      ],
    )
  })

  test('of received messages get an event with attributes, the gateway and the session store', async (t) => {
    const { hooks } = await startPythonPlugins(t, {
      plugins: {
        snake: `def screen(event, gateway, session_store, session_key, role):
    assert session_store is None and gateway.session_store is None
    assert event.source.platform.value == event["source"]["platform"] == "telegram"
    assert event.message_type == "command" and event.raw_message is None
    assert event.get_command() == "stop" and event.get_command_args() == "now, please"
    assert not hasattr(event, "no_such_field") and callable(gateway.inject_message)
    return {"action": "rewrite", "text": f"{event.text} {event.source.user_id} {session_key} {role}"}
def register(ctx):
    ctx.register_hook("pre_gateway_dispatch", screen)
`,
      },
    })
    const source = { platform: 'telegram', chatId: '1', chatType: 'dm', userId: 'ada', account: 'default' } as const
    const event = eventPayload({ source, text: '/stop@bot now, please', messageType: 'command', timestamp: 0 })
    const answers = await hooks.collect('pre_gateway_dispatch', dispatchContext, () => ({
      event,
      session_key: 'k',
      role: 'guest',
    }))
    assert.deepEqual(
      answers.map(({ value }) => value),
      [{ action: 'rewrite', text: '/stop@bot now, please ada k guest' }],
    )
  })

  test('that raise are skipped and logged with their traceback; observers can return anything', async (t) => {
    const { hooks, log } = await startPythonPlugins(t, {
      plugins: {
        snake: `def bad(**_):
    raise LookupError("nothing here")
def odd(**_):
    return object()
def register(ctx):
    ctx.register_hook("pre_tool_call", bad)
    ctx.register_hook("post_tool_call", odd)
    ctx.register_hook("pre_llm_cal", odd)
`,
      },
    })
    assert.deepEqual(await hooks.collect('pre_tool_call', dispatchContext, () => toolKeys), [])
    const { fields } = await log.waitForEvent('plugin.callback_failed', { plugin: 'snake', hook: 'pre_tool_call' })
    assert.equal(fields['reason'], 'nothing here')
    const { err: error } = fields
    assert.ok(error instanceof Error)
    assert.equal(error.name, 'LookupError')
    assert.match(error.stack ?? '', /__init__\.py", line 2, in bad/)
    hooks.notify('post_tool_call', dispatchContext, () => ({
      ...toolKeys,
      result: 'r',
      duration_ms: 1,
      status: 'ok',
      error_type: null,
      error_message: null,
    }))
    await hooks.drain(10_000)
    assert.equal(
      log.records.filter(
        ({ fields: { event, hook } }) => event === 'plugin.callback_failed' && hook === 'post_tool_call',
      ).length,
      0,
    )
    assert.equal((await log.waitForEvent('plugin.unknown_hook')).fields['suggestion'], 'pre_llm_call')
  })

  test('that hang are ended with their process after the timeout, and the plugin continues in a new one', async (t) => {
    let timeoutMs = 30
    const { hooks, hosts, log } = await startPythonPlugins(t, {
      plugins: {
        snake: `def spin(tool_name, **_):
    while tool_name == "terminal":
        pass
    return {"action": "block", "message": "well"}
def register(ctx):
    ctx.register_hook("pre_tool_call", spin)
    ctx.register_hook("transform_llm_output", lambda **_: "well")
`,
      },
      hookTimeoutMs: () => timeoutMs,
    })
    const decided = hooks.collect('pre_tool_call', dispatchContext, () => toolKeys)
    const { fields } = await log.waitForEvent('host.killed')
    assert.match(String(fields['handler']), /snake/)
    assert.deepEqual(await decided, [])
    await log.waitForEvent('plugin.process_exited')
    timeoutMs = 30_000
    const output = { response_text: 'r', session_id: 's', model: 'm', platform: 'web' }
    assert.deepEqual(await hooks.collect('transform_llm_output', dispatchContext, () => output), [
      { owner: 'snake', value: 'well' },
    ])
    assert.deepEqual([hosts[0]?.host.status().kills, hosts[0]?.host.status().starts], [1, 2])
  })

  test('as coroutines share one event loop, and plain functions have one thread each', async (t) => {
    const { hooks } = await startPythonPlugins(t, {
      plugins: {
        snake: `import asyncio, threading
together = threading.Barrier(3)
loops = set()
gate = None
async def a(**_):
    global gate
    gate = gate or asyncio.Event()
    loops.add(id(asyncio.get_running_loop()))
    await gate.wait()
    return {"loops": len(loops)}
async def b(**_):
    global gate
    gate = gate or asyncio.Event()
    loops.add(id(asyncio.get_running_loop()))
    gate.set()
def plain(**_):
    together.wait()
    return {"threads": True}
def register(ctx):
    for callback in (a, b, plain, plain, plain, lambda **_: a()):
        ctx.register_hook("pre_tool_call", callback)
`,
      },
    })
    const answers = await hooks.collect('pre_tool_call', dispatchContext, () => toolKeys)
    assert.deepEqual(
      answers.map(({ value }) => value),
      [{ loops: 1 }, { threads: true }, { threads: true }, { threads: true }, { loops: 1 }],
    )
  })
})

suite('a plugin in Python', options, () => {
  test('registers tools with their schema, check and requirements', async (t) => {
    const offered: PluginTool[] = []
    const ran: PluginTool['run'][] = []
    const { hosts } = await startPythonPlugins(t, {
      plugins: {
        snake: `import json
SCHEMA = {"name": "greet", "description": "Greets a person", "parameters": {"type": "object", "properties": {"name": {"type": "string"}}}}
def greet(args, **kwargs):
    return json.dumps({"hello": args["name"], "task": kwargs.get("task_id")})
async def shout(args):
    return {"loud": args["name"].upper()}
def register(ctx):
    ctx.register_tool("greet", "people", SCHEMA, greet, check_fn=lambda: False)
    ctx.register_tool(name="shout", toolset="people", schema={"type": "object"}, handler=shout, is_async=True, description="Shouts", emoji="!", requires_env=["PATH"])
    ctx.register_tool("later", "people", None, shout, requires_env=["NOT_SET"])
`,
      },
      services: {
        tools: {
          register(_owner, tool, run) {
            offered.push(tool)
            ran.push(run)
            return { name: tool.name, remove: () => true }
          },
          check: () => undefined,
        },
      },
    })
    assert.deepEqual(
      offered.map(({ name, toolset, description, parameters }) => ({ name, toolset, description, parameters })),
      [
        {
          name: 'greet',
          toolset: 'people',
          description: 'Greets a person',
          parameters: { type: 'object', properties: { name: { type: 'string' } } },
        },
        { name: 'shout', toolset: 'people', description: 'Shouts', parameters: { type: 'object' } },
        { name: 'later', toolset: 'people', description: '', parameters: { type: 'object', properties: {} } },
      ],
    )
    assert.deepEqual(await Promise.all(offered.map((tool) => tool.check?.())), [false, true, false])
    const { signal } = new AbortController()
    const about = { sessionId: 's', turnId: 't', toolCallId: 'c', signal, log: hosts[0]?.options.log ?? assert.fail() }
    assert.equal(await ran[0]?.({ name: 'Ada' }, about), '{"hello": "Ada", "task": "s"}')
    assert.deepEqual(await ran[1]?.({ name: 'Ada' }, about), { loud: 'ADA' })
  })

  test('answers slash commands', async (t) => {
    const commands: { readonly command: PluginCommand; readonly run: PluginCommand['run'] }[] = []
    await startPythonPlugins(t, {
      plugins: {
        snake: `async def shout(raw_args, user_id):
    return f"{raw_args.upper()} ({user_id})"
def register(ctx):
    ctx.register_command("shout", shout, description="Shouts", args_hint="[text]", argument_mode="raw")
    ctx.register_command("quiet", lambda raw: None)
`,
      },
      services: {
        commands: {
          register(_owner, command, run) {
            commands.push({ command, run })
            return { name: command.name, remove: () => true }
          },
          check: () => undefined,
        },
      },
    })
    const { signal } = new AbortController()
    const about = { platform: 'web', userId: 'ada', sessionKey: 'k', signal }
    const [shout, quiet] = commands
    assert.deepEqual([shout?.command.description, shout?.command.argsHint], ['Shouts', '[text]'])
    assert.equal(await shout?.run('hello', about), 'HELLO (ada)')
    assert.equal(await quiet?.run('', about), null)
  })

  test('can use settings, state, models, tools and messages in calls, in threads and while loading', async (t) => {
    const asked: unknown[] = []
    const text = `import threading
results = {}
def work(ctx, into):
    into["config"] = ctx.get_config("depth", 3), ctx.get_config("nothing", 4), ctx.config
    into["state"] = ctx.state.get("count", 0)
    ctx.state.set("count", into["state"] + 1)
    ctx.state.set("gone", 1)
    ctx.state.delete("gone")
    into["keys"] = ctx.state.keys()
    into["ids"] = [ctx.plugin_id, ctx.version, ctx.has_plugin("snake"), ctx.has_plugin("other")]
    answer = ctx.llm.complete("why?", system="be short", max_output_tokens=9)
    into["llm"] = [answer.text, answer.model, answer.usage]
    into["tool"] = ctx.dispatch_tool("terminal", {"command": "ls"})
    into["sent"] = ctx.inject_message("hello", session_key="k")
    try:
        ctx.dispatch_tool("forbidden", {})
    except Exception as error:
        into["refused"] = f"{error.name}: {error}"
    into["mcp"] = ctx.call_mcp("notes", "look", {"what": "rain"}, timeout="5")
    try:
        ctx.call_mcp("other", "look")
    except PermissionError as error:
        into["denied"] = error.code
    return into
async def later(**_):
    answer = await CTX.llm.complete([{"role": "user", "content": "and now?"}])
    return {"text": answer.text, "tool": await CTX.dispatch_tool("terminal", {}), "depth": CTX.get_config("depth")}
def in_call(**_):
    return work(CTX, {})
def on_thread(**_):
    into = {}
    thread = threading.Thread(target=work, args=(CTX, into))
    thread.start()
    thread.join()
    return into
def register(ctx):
    global CTX
    CTX = ctx
    work(ctx, results)
    for callback in (lambda **_: results, in_call, on_thread, later):
        ctx.register_hook("pre_llm_call", callback)
`
    const setup: PythonSetup = {
      plugins: { snake: text },
      loading: { plugins: { enabled: ['snake'], entries: { snake: { settings: { depth: 5 } } } } },
      services: {
        async complete(owner, prompt, about) {
          asked.push({ owner, prompt, ...about, signal: about?.signal instanceof AbortSignal })
          return { text: 'because', model: 'm', usage: { input_tokens: 1 } }
        },
        async dispatchTool(owner, name, args) {
          asked.push({ owner, name, args })
          if (name === 'forbidden') throw new TypeError('not this one')
          return 'listing'
        },
        async injectMessage(owner, content, about) {
          asked.push({ owner, content, ...about })
          return true
        },
        async callMcp(owner, server, tool, args, about) {
          if (server === 'other') throw new HermesError('plugins/not-allowed')
          return { ok: true, result: [owner, tool, args, about] }
        },
      },
    }
    const { hooks } = await startPythonPlugins(t, setup)
    const keys = {
      session_id: 's',
      task_id: 's',
      turn_id: 't',
      model: 'm',
      platform: 'web',
      user_message: 'hi',
      conversation_history: [],
      is_first_turn: true,
      parent_session_id: '',
      sender_id: '',
      role: 'owner' as const,
    }
    const expected = (state: number) => ({
      config: [5, 4, { depth: 5 }],
      state,
      keys: ['count'],
      ids: ['snake', '0.0.0', state > 0, false],
      llm: ['because', 'm', { input_tokens: 1 }],
      tool: 'listing',
      sent: true,
      refused: 'TypeError: not this one',
      mcp: { ok: true, result: ['snake', 'look', { what: 'rain' }, { timeout: 5 }] },
      denied: 'plugins/not-allowed',
    })
    const values: unknown[] = []
    for (const { value } of await hooks.collect('pre_llm_call', dispatchContext, () => keys)) values.push(value)
    assert.deepEqual(values[0], expected(0))
    const [inCall, onThread] = [Object(values[1]), Object(values[2])]
    // Both read and wrote at the same time.
    assert.deepEqual({ ...inCall, state: 1, keys: ['count'] }, expected(1))
    assert.deepEqual({ ...onThread, state: 1, keys: ['count'] }, expected(1))
    assert.deepEqual(values[3], { text: 'because', tool: 'listing', depth: 5 })
    assert.deepEqual(asked.slice(0, 4), [
      { owner: 'snake', prompt: 'why?', system: 'be short', maxOutputTokens: 9, signal: true },
      { owner: 'snake', name: 'terminal', args: { command: 'ls' } },
      { owner: 'snake', content: 'hello', role: 'user', sessionKey: 'k' },
      { owner: 'snake', name: 'forbidden', args: {} },
    ])
  })

  test('writes to the log with the logging module and with print', async (t) => {
    const { log } = await startPythonPlugins(t, {
      plugins: {
        snake: `import logging
logger = logging.getLogger(__name__)
def register(ctx):
    logger.debug("too much")
    logger.info("one %s", "line")
    logger.warning("careful")
    ctx.logger.setLevel(logging.DEBUG)
    ctx.log.debug("seen")
    try:
        raise KeyError("deep")
    except KeyError:
        logger.exception("it failed")
    print("⚠ printed")
`,
      },
    })
    await log.waitForLine(/printed/)
    const lines = log.records.filter(({ fields }) => fields['logger'] !== undefined || fields['stream'] !== undefined)
    const printed = lines.find(({ text }) => /printed/.test(text))
    assert.deepEqual([printed?.level, printed?.text, printed?.fields['plugin']], ['info', '⚠ printed', 'snake'])
    const logged = lines.filter((line) => line !== printed)
    assert.deepEqual(
      logged.map(({ level, text }) => [level, text.split('\n')[0]]),
      [
        ['info', 'one line'],
        ['warn', 'careful'],
        ['debug', 'seen'],
        ['error', 'it failed'],
      ],
    )
    assert.match(logged.at(-1)?.text ?? '', /KeyError: 'deep'/)
    assert.deepEqual(logged[0]?.fields, {
      plugin: 'snake',
      host: 'plugin snake',
      module: 'snake',
      logger: 'hermes_plugin_snake',
    })
  })

  test('adds prompt sections as a text or by a function', async (t) => {
    const sections: (string | null | undefined)[] = []
    await startPythonPlugins(t, {
      plugins: {
        snake: `def about(platform, **_):
    return f"You are on {platform}. " * 9
def register(ctx):
    ctx.register_system_prompt_section("fixed", "Be kind.")
    ctx.register_system_prompt_section("made", about, position="after_memory", max_chars=15)
`,
      },
      services: {
        sections: {
          register(_owner, name, section) {
            const text = async () =>
              typeof section === 'string' ? section : await section({ sessionId: 's', platform: 'web' })
            later.push(async () => void sections.push(await text()))
            return { name, remove: () => true }
          },
        },
      },
    })
    for (const render of later) await render()
    assert.deepEqual(sections, ['Be kind.', 'You are on web.'])
  })
  const later: (() => Promise<void>)[] = []

  test('runs daemons with periodic tasks, which restart with their process and stop before it ends', async (t) => {
    const text = `import os
def note(what):
    with open(os.environ["HERMES_HOME"] + "/notes", "a") as file:
        file.write(what + "\\n")
    CTX.state.set(what, True)
def register(ctx):
    global CTX
    CTX = ctx
    task = ctx.PeriodicTaskSpec(name="tick", interval_seconds=3600, run=lambda: note("tick"), run_at_start=True)
    ctx.register_background_daemon("ticker", lambda: note("start"), lambda: note("stop"), periodic_task=task, shutdown_timeout=2.0)
    ctx.register_background_daemon("plain", lambda: note("plain"), lambda: note("plain stop"))
    ctx.register_hook("pre_tool_call", lambda **_: os._exit(1))
`
    const noted = new Map<string, PromiseWithResolvers<void>>()
    const notification = (what: string) => {
      const known = noted.get(what) ?? Promise.withResolvers<void>()
      noted.set(what, known)
      return known
    }
    const startsAgain = { start: Promise.withResolvers<void>(), plain: Promise.withResolvers<void>() }
    const starts = { start: 0, plain: 0 }
    const made = await startPythonPlugins(t, {
      plugins: { snake: text },
      services: {
        state: () => ({
          get: async () => undefined,
          async set(key) {
            notification(key).resolve()
            if ((key === 'plain' || key === 'start') && ++starts[key] === 2) startsAgain[key].resolve()
          },
          delete: async () => undefined,
          keys: async () => [],
        }),
      },
    })
    await made.daemons.start()
    await notification('tick').promise
    await made.hooks.collect('pre_tool_call', dispatchContext, () => toolKeys)
    await Promise.all([startsAgain.start.promise, startsAgain.plain.promise])
    await made.loader.stop()
    const notes = readFileSync(join(made.home, 'notes'), 'utf8').trim().split('\n')
    assert.deepEqual(notes.slice(0, 3).toSorted(), ['plain', 'start', 'tick'])
    assert.deepEqual(notes.slice(3, 5).toSorted(), ['plain', 'start'])
    assert.deepEqual(notes.slice(5).toSorted(), ['plain stop', 'stop'])
    assert.equal(made.hosts[0]?.host.status().state, 'stopped')
  })

  test('is notified before it is unloaded, and its registrations and its process are removed', async (t) => {
    const text = `import os
def register(ctx):
    def bye():
        with open(os.environ["HERMES_HOME"] + "/bye", "w") as file:
            file.write(str(ctx.state.keys()))
    ctx.on_unload(bye)
    handle = ctx.register_hook("pre_tool_call", lambda **_: {"action": "block", "message": "one"})
    ctx.register_hook("pre_tool_call", lambda **_: {"action": "block", "message": "two"})
    assert handle.remove() is True
    assert handle.remove() is False
`
    const made = await startPythonPlugins(t, { plugins: { snake: text } })
    const answers = await made.hooks.collect('pre_tool_call', dispatchContext, () => toolKeys)
    assert.deepEqual(answers, [{ owner: 'snake', value: { action: 'block', message: 'two' } }])
    const pid = made.pid()
    made.configure({ enabled: [] })
    await made.loader.sync()
    assert.equal(made.hooks.hasListeners('pre_tool_call'), false)
    assert.equal(readFileSync(join(made.home, 'bye'), 'utf8'), '[]')
    assert.equal(existsSync(`/proc/${pid}`), false)

    made.configure({ enabled: ['snake'] })
    await made.loader.sync()
    assert.equal(made.hosts.length, 2)
    assert.equal(made.hooks.hasListeners('pre_tool_call'), true)
    const { done } = await withTimeout(made.loader.stop(), 5_000)
    assert.equal(done, true)
  })
})
