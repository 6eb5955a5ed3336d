/**
 * Middleware in Python (seed 000): `next_call` crosses the border of processes with identity, and what a plugin or its
 * process does wrong does not fail the call.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { suite, type TestContext, test } from 'node:test'
import type { Fields } from '../../src/middleware/contract.ts'
import { timeout, withoutPython } from '../hosts/support.ts'
import { modelCall, toolCall } from '../middleware/support.ts'
import { createBarrier, type PythonSetup, startPythonPlugins } from './python-support.ts'

const options = { skip: withoutPython, timeout }

/** A plugin with one middleware of this kind, named `around`. */
function plugin(body: string, kind = 'tool_execution'): string {
  return `import json, os, signal, threading
${body}
def register(ctx):
    global CTX
    CTX = ctx
    ctx.register_middleware("${kind}", around)
`
}

async function around(t: TestContext, body: string, more: Partial<PythonSetup> = {}, kind?: string) {
  const made = await startPythonPlugins(t, { plugins: { snake: plugin(body, kind) }, ...more })
  const warned = () => made.log.records.filter(({ level }) => level === 'warn').map(({ fields }) => fields)
  return { ...made, warned, tool: made.middleware.tool }
}

/** A handler that counts, and what it was given. */
function terminal(work: (args: Fields) => unknown = (args) => ({ ran: args['path'] })) {
  const given: Fields[] = []
  const handler = async (args: Fields) => {
    given.push(args)
    return work(args)
  }
  return { given, handler }
}

suite('middleware in Python', options, () => {
  test('can declare that it replaces the text of the model', async (t) => {
    const body = 'def wrap(next_call, **_):\n    return next_call()\n'
    for (const [declared, shown] of [
      ['', 'provisional'],
      [', answers="unchanged"', 'final'],
      [', answers="replaced"', 'withheld'],
    ]) {
      const snake = `${body}def register(ctx):\n    ctx.register_middleware("llm_execution", wrap${declared})\n`
      const { middleware } = await startPythonPlugins(t, { plugins: { snake } })
      assert.equal(middleware.streamedText(), shown)
    }
  })

  test('passes arguments and results through by identity', async (t) => {
    const { tool } = await around(t, 'def around(**kwargs):\n    return kwargs["next_call"](kwargs["args"])\n')
    const args = { path: 'a', deep: { list: [1, 2] } }
    const result = { big: ['x'], n: 1 }
    const { given, handler } = terminal(() => result)
    assert.equal(await tool(toolCall({ args, handler })), result)
    assert.equal(given[0], args)
  })

  test('passes changed arguments on, and changed results back', async (t) => {
    const { tool } = await around(
      t,
      `def around(args, next_call, original_args, **kwargs):
    result = next_call({**args, "path": "b", "was": original_args["path"]})
    result["more"] = True
    return result
`,
    )
    const { given, handler } = terminal()
    assert.deepEqual(await tool(toolCall({ args: { path: 'a' }, handler })), { ran: 'b', more: true })
    assert.deepEqual(given, [{ path: 'b', was: 'a' }])
  })

  test('passes an error through by identity, also when Python raises it again', async (t) => {
    const thrown = new TypeError('the disk is full')
    const { middleware } = await startPythonPlugins(t, {
      plugins: {
        snake: `def passes(args, next_call, **_):
    return next_call(args)
def raises(args, next_call, **_):
    try:
        return next_call(args)
    except Exception as error:
        raise error
async def awaits(args, next_call, **_):
    return await next_call(args)
def register(ctx):
    for around in (passes, raises, awaits, passes):
        ctx.register_middleware("tool_execution", around)
`,
      },
    })
    const { given, handler } = terminal(() => Promise.reject(thrown))
    await assert.rejects(middleware.tool(toolCall({ handler })), (error) => error === thrown)
    assert.equal(given.length, 1)
  })

  test('receives the very error that a callback of the same plugin raised', async (t) => {
    const { middleware } = await startPythonPlugins(t, {
      plugins: {
        snake: `class Full(Exception):
    def __init__(self, disk):
        super().__init__(f"{disk} is full")
        self.disk = disk
RAISED = []
def around(args, next_call, **_):
    try:
        return next_call(args)
    except Full as error:
        return {"same": error is RAISED[0], "disk": error.disk}
def inner(args, next_call, **_):
    try:
        return next_call(args)
    except Exception:
        RAISED.append(Full("sda"))
        raise RAISED[0]
def register(ctx):
    ctx.register_middleware("tool_execution", around)
    ctx.register_middleware("tool_execution", inner)
`,
      },
    })
    const { handler } = terminal(() => Promise.reject(new Error('wet')))
    assert.deepEqual(await middleware.tool(toolCall({ handler })), { same: true, disk: 'sda' })
  })

  test('gets a RuntimeError from a second next_call', async (t) => {
    const { tool } = await around(
      t,
      `def around(args, next_call, **_):
    next_call(args)
    try:
        next_call(args)
    except RuntimeError as error:
        return {"code": error.code}
`,
    )
    const { given, handler } = terminal()
    assert.deepEqual(await tool(toolCall({ handler })), { code: 'middleware/next-called-twice' })
    assert.equal(given.length, 1)
  })

  test('converts an exception into an error with its class name and message', async (t) => {
    const { tool } = await around(
      t,
      `class Weather(ValueError):
    pass
def around(args, next_call, **_):
    try:
        return next_call(args)
    except Exception as error:
        raise Weather(f"it rains: {error}") from error
`,
    )
    const { given, handler } = terminal(() => Promise.reject(new Error('wet')))
    await assert.rejects(tool(toolCall({ handler })), {
      name: 'Weather',
      message: 'it rains: wet',
      stack: /__init__\.py/,
    })
    assert.equal(given.length, 1)
  })

  test('can return a result for a failed call, but not None', async (t) => {
    const body = (answer: string) =>
      `def around(args, next_call, **_):\n    try:\n        return next_call(args)\n    except Exception:\n        return ${answer}\n`
    const fails = () => Promise.reject(new Error('wet'))
    const kind = await around(t, body('{"instead": 1}'))
    assert.deepEqual(await kind.tool(toolCall({ handler: terminal(fails).handler })), { instead: 1 })
    const silent = await around(t, body('None'))
    await assert.rejects(silent.tool(toolCall({ handler: terminal(fails).handler })), /wet/)
  })

  test('that raises before the call is skipped; after it, the result stays', async (t) => {
    const before = await around(t, 'def around(**_):\n    raise KeyError("before")\n')
    const first = terminal()
    assert.deepEqual(await before.tool(toolCall({ args: { path: 'a' }, handler: first.handler })), { ran: 'a' })
    assert.equal(first.given.length, 1)
    const { event, plugin, name, point } = before.warned()[0] ?? {}
    assert.deepEqual([event, plugin, name, point], ['middleware.callback_failed', 'snake', 'around', 'tool_execution'])

    const after = await around(t, 'def around(next_call, **_):\n    next_call()\n    raise KeyError("after")\n')
    const second = terminal()
    assert.deepEqual(await after.tool(toolCall({ args: { path: 'a' }, handler: second.handler })), { ran: 'a' })
    assert.equal(second.given.length, 1)
    assert.equal(after.warned()[0]?.['event'], 'middleware.callback_failed')
  })

  test('that returns None or a value that is not JSON, or calls twice, does not change the result', async (t) => {
    const { middleware, log } = await startPythonPlugins(t, {
      plugins: {
        snake: `def none(args, next_call, **_):
    next_call(args)
def unsendable(args, next_call, **_):
    next_call(args)
    return {1, 2}
def twice(args, next_call, **_):
    next_call(args)
    return next_call(args)
def register(ctx):
    for around in (none, unsendable, twice):
        ctx.register_middleware("tool_execution", around)
`,
      },
    })
    const { given, handler } = terminal()
    assert.deepEqual(await middleware.tool(toolCall({ args: { path: 'a' }, handler })), { ran: 'a' })
    assert.equal(given.length, 1)
    const failed = log.records.flatMap(({ level, fields }) => (level === 'warn' ? [fields['name']] : []))
    assert.deepEqual(failed, ['twice', 'unsendable'])
  })

  test('can return a result without the call', async (t) => {
    const { tool } = await around(t, 'def around(tool_name):\n    return f"no {tool_name} today"\n')
    const { given, handler } = terminal()
    assert.equal(await tool(toolCall({ handler })), 'no read_file today')
    assert.equal(given.length, 0)
  })

  test('whose process ends before the call is skipped', async (t) => {
    const { tool, hosts } = await around(t, 'def around(**_):\n    os._exit(3)\n')
    const { given, handler } = terminal()
    assert.deepEqual(await tool(toolCall({ args: { path: 'a' }, handler })), { ran: 'a' })
    assert.equal(given.length, 1)
    assert.equal(hosts[0]?.host.status().state, 'idle')
  })

  test('whose process ends during the call does not affect its result', async (t) => {
    const { tool, pid, log } = await around(t, 'def around(next_call, **_):\n    return {"wrapped": next_call()}\n')
    const { given, handler } = terminal(async (args) => {
      process.kill(pid(), 'SIGKILL')
      await log.waitForEvent('plugin.process_exited')
      return { ran: args['path'] }
    })
    assert.deepEqual(await tool(toolCall({ args: { path: 'a' }, handler })), { ran: 'a' })
    assert.equal(given.length, 1)
  })

  test('whose process ends after the call has failed does not hide the error of the call', async (t) => {
    const body =
      'def around(next_call, **_):\n    try:\n        next_call()\n    except Exception:\n        os._exit(3)\n'
    const { tool } = await around(t, body)
    const thrown = new Error('wet')
    await assert.rejects(
      tool(toolCall({ handler: terminal(() => Promise.reject(thrown)).handler })),
      (error) => error === thrown,
    )
  })

  test('that waits for the call is cancelled by a stop and cannot suppress it', async (t) => {
    const body = `def around(next_call, **_):
    try:
        return next_call()
    except Exception:
        return "swallowed"
    finally:
        with open(os.environ["HERMES_HOME"] + "/ended", "w") as file:
            file.write("yes")
`
    const { tool, home, hosts, log } = await around(t, body)
    const stop = new AbortController()
    const reason = new DOMException('stopped by the user', 'AbortError')
    const running = tool(
      toolCall({
        signal: stop.signal,
        handler: (_args, signal) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signal.reason))
            stop.abort(reason)
          }),
      }),
    )
    await assert.rejects(running, (error) => error === reason)
    // It has ended by itself: the process lives.
    assert.equal(hosts[0]?.host.status().starts, 1)
    assert.equal(readFileSync(join(home, 'ended'), 'utf8'), 'yes')
    assert.deepEqual(
      log.records.filter(({ text }) => /swallowed/.test(text)),
      [],
    )
  })

  test('that ignores a stop does not delay the call, and its process serves other calls', async (t) => {
    const body = `held = threading.Event()
def around(args, next_call, **_):
    if args["path"] == "hold":
        try:
            CTX.state.set("held", True)
        except BaseException:
            held.wait()
    return next_call(args)
`
    const { tool, hosts } = await around(t, body, {
      graceMs: 50,
      services: {
        state: () => ({
          get: async () => undefined,
          set: async () => stop.abort(reason),
          delete: async () => undefined,
          keys: async () => [],
        }),
      },
    })
    const stop = new AbortController()
    const reason = new Error('stopped by the user')
    await assert.rejects(tool(toolCall({ args: { path: 'hold' }, signal: stop.signal })), (error) => error === reason)
    assert.deepEqual(await tool(toolCall({ args: { path: 'b' } })), { path: 'b' })
    assert.deepEqual([hosts[0]?.host.status().starts, hosts[0]?.host.status().inFlight], [1, 1])
  })

  test('handles twenty concurrent calls that wait for each other', async (t) => {
    const { middleware, hosts } = await startPythonPlugins(t, {
      plugins: {
        snake: `def blocks(args, next_call, **_):
    return {**next_call(args), "blocked": True}
async def awaits(args, next_call, **_):
    return {**await next_call(args), "awaited": True}
def register(ctx):
    ctx.register_middleware("tool_execution", blocks)
    ctx.register_middleware("tool_execution", awaits)
`,
      },
    })
    const all = createBarrier(20)
    const calls = Array.from({ length: 20 }, (_, n) =>
      middleware.tool(
        toolCall({
          args: { n },
          handler: async (args) => {
            await all()
            return { n: args['n'] }
          },
        }),
      ),
    )
    assert.deepEqual(
      await Promise.all(calls),
      Array.from({ length: 20 }, (_, n) => ({ n, blocked: true, awaited: true })),
    )
    assert.equal(hosts[0]?.host.status().starts, 1)
  })

  test('calls next_call while another thread is importing asyncio', async (t) => {
    const { middleware } = await startPythonPlugins(t, {
      plugins: {
        snake: `import sys, types
def blocks(next_call, **_):
    sys.modules["asyncio"] = types.ModuleType("asyncio")
    try:
        return {**next_call(), "blocked": True}
    finally:
        del sys.modules["asyncio"]
def register(ctx):
    ctx.register_middleware("tool_execution", blocks)
`,
      },
    })
    assert.deepEqual(await middleware.tool(toolCall({ handler: async () => ({ n: 1 }) })), { n: 1, blocked: true })
  })

  test('of one plugin is nested in the order of registration', async (t) => {
    const text = `def wrap(name):
    def around(args, next_call, **_):
        return name + "(" + next_call({"path": args["path"] + name}) + ")"
    return around
def register(ctx):
    ctx.register_middleware("tool_execution", wrap("a"))
    ctx.register_middleware("tool_execution", wrap("b"))
`
    const { middleware, report } = await startPythonPlugins(t, { plugins: { snake: text } })
    assert.equal(
      await middleware.tool(toolCall({ args: { path: '' }, handler: async (args) => String(args['path']) })),
      'a(b(ab))',
    )
    assert.deepEqual(report('snake').registered, [
      { kind: 'middleware', name: 'around' },
      { kind: 'middleware', name: 'around 2' },
    ])
  })

  test('rewrites requests with a trace, wraps models, and knows the older names of kinds', async (t) => {
    const text = `def ask(request, original_request, **_):
    return {"request": {**request, "temperature": 0}, "source": "snake", "reason": "calm"}
def wrap(request, original_request, next_call, middleware_trace, provider, **kwargs):
    assert kwargs["telemetry_schema_version"] == "hermes.observer.v1"
    assert kwargs["middleware_schema_version"] == "hermes.middleware.v1"
    return next_call({**request, "trace": middleware_trace, "first": original_request, "at": provider})
def register(ctx):
    ctx.register_middleware("api_request", ask)
    ctx.register_middleware("api_execution", wrap)
    ctx.register_middleware("no_such_kind", wrap)
`
    const { middleware, report } = await startPythonPlugins(t, { plugins: { snake: text } })
    const sent: Fields[] = []
    const call = modelCall([], {
      request: { model: 'gpt' },
      async *stream(request) {
        sent.push(request)
        yield* []
        return 'hello'
      },
    })
    assert.equal(await middleware.model(call), 'hello')
    const trace = [{ source: 'snake', reason: 'calm' }]
    assert.deepEqual(sent, [{ model: 'gpt', temperature: 0, trace, first: { model: 'gpt' }, at: 'openai' }])
    assert.deepEqual(report('snake').warnings, [
      'the middleware kind no_such_kind does not exist; the registration is ignored',
    ])
  })

  test('in a process that is killed repeatedly runs each tool once and returns its result', async (t) => {
    const body = `async def around(args, next_call, **_):
    return {**await next_call(args), "seen": True}
`
    const { tool, pid, hosts } = await around(t, body)
    const ran = new Map<number, number>()
    let random = 7
    /** The call of each round in whose middle the process is killed; none in two rounds of three. */
    const victims = Array.from({ length: 20 }, (_, round) => {
      random = (random * 48_271) % 2_147_483_647
      return round % 3 === 2 ? round * 10 + (random % 10) : undefined
    })
    const one = async (n: number) => {
      const result = await tool(
        toolCall({
          args: { n },
          handler: async () => {
            ran.set(n, (ran.get(n) ?? 0) + 1)
            if (victims.includes(n) && pid() !== 0) process.kill(pid(), 'SIGKILL')
            return { n }
          },
        }),
      )
      assert.equal(Object(result)['n'], n)
      return Object(result)['seen'] === true
    }
    let seen = 0
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all(Array.from({ length: 10 }, (_, n) => one(round * 10 + n)))
      seen += results.filter(Boolean).length
    }
    assert.deepEqual(
      [...ran.values()],
      Array.from({ length: 200 }, () => 1),
    )
    assert.ok(seen >= 130, `only ${seen} calls went through the plugin`)
    assert.equal(hosts[0]?.host.status().starts, 7)
  })
})
