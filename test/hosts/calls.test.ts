/**
 * Calling handlers: what they get, what comes back, what they may ask for meanwhile.
 */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { z } from 'zod'
import type { HostRequest } from '../../src/hosts/contract.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { createSharedHost, createTestHost, expectFailure, expectValue, timeout, withoutPython } from './support.ts'

const handlerSources = {
  node: {
    skip: false as const,
    echo: 'export const handle = (event: string, context: object) => ({ event, context })',
    slow: 'export const handle = async (_: string, { n }: { n: number }) => { await null; return n * 2 }',
    services: `
      export async function handle(event, context, { signal, log, gateway }) {
        log.info({ chats: 2 }, 'at work')
        const sent = await gateway.send('telegram:1', 'hello')
        const task = await gateway.startAgent('look after it', { maxIterations: 3 })
        return [signal.aborted, sent, task]
      }`,
    asks: `
      export const handle = async (event, context, { gateway }) => {
        try { return await gateway.send('a', 'b') } catch (error) { return [error.name, error.code, error.message] }
      }`,
    keeps: `
      let kept
      export const handle = (event, context, { gateway }) => { kept = gateway }
      export const later = () => kept.send('a', 'b').catch((error) => error.message)`,
    waits: `
      export const handle = (event, context, { gateway }) => gateway.send('a', 'b')
      export const quick = () => 'quick'`,
    middleware: `
      export const same = ({ args, next_call }) => next_call(args)
      export const other = async ({ args, next_call }) => ({ ...(await next_call({ ...args, more: true })) })
      export const edited = async ({ args, next_call }) => { const result = await next_call(args); result.edited = 1; return result }
      export const translated = ({ args, next_call }) => next_call(args).catch((error) => { throw new Error('mine: ' + error.message) })
      export const handle = same`,
    nothing: 'export const handle = () => {}',
    opaque: 'export const handle = () => () => 1',
  },
  python: {
    skip: withoutPython,
    echo: 'def handle(event_type, context):\n  return {"event": event_type, "context": context}',
    slow: 'import asyncio\nasync def handle(event_type, context):\n  await asyncio.sleep(0)\n  return context["n"] * 2',
    services: `
async def handle(event_type, context, services):
    services.log.info("at work", chats=2)
    sent = await services.gateway.send("telegram:1", "hello")
    task = await services.gateway.start_agent("look after it", max_iterations=3)
    return [services.signal.aborted, sent, task]`,
    asks: `
def handle(event_type, context, services):
    try:
        return services.gateway.send("a", "b")
    except Exception as error:
        return [error.name, error.code, str(error)]`,
    keeps: `
def handle(event_type, context, services):
    global kept
    kept = services.gateway
def later():
    try:
        kept.send("a", "b")
    except RuntimeError as error:
        return str(error)`,
    waits: `
def handle(event_type, context, services):
    return services.gateway.send("a", "b")
def quick():
    return "quick"`,
    middleware: `
def same(**kwargs):
    return kwargs["next_call"](kwargs["args"])
def other(args, next_call):
    return dict(next_call({**args, "more": True}))
async def edited(args, next_call):
    result = await next_call(args)
    result["edited"] = 1
    return result
def translated(args, next_call):
    try:
        return next_call(args)
    except Exception as error:
        raise ValueError("mine: " + str(error))
handle = same`,
    nothing: 'def handle(event_type, context):\n  pass',
    opaque: 'def handle(event_type, context):\n  return object()',
  },
}

for (const language of ['node', 'python'] as const) {
  const twin = handlerSources[language]
  const typed = new Set(['echo', 'slow', 'nothing', 'opaque'])
  const extension = (name: string) => (language === 'python' ? 'py' : typed.has(name) ? 'ts' : 'mjs')
  const { skip, ...texts } = twin
  const files = Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${name}.${extension(name)}`, text]))

  describe(`a handler in ${language}`, { skip, timeout }, () => {
    const shared = createSharedHost({ files })

    it('receives the event and its context and returns a result; the first call starts the process', async (t) => {
      const { host } = createTestHost(t, { files })
      assert.deepEqual(host.status(), {
        ...{ state: 'idle', pid: undefined, runtime: undefined },
        ...{ starts: 0, kills: 0, inFlight: 0 },
      })
      const context = { text: 'Grüße 👋 "quoted"\n', list: [1, null, { deep: true }] }
      const result = await host.call({ module: 'echo', args: ['agent:start', context], deadlineMs: 5_000 })
      assert.deepEqual(expectValue(result), { event: 'agent:start', context })
      const { state, starts, inFlight } = host.status()
      assert.deepEqual({ state, starts, inFlight }, { state: 'running', starts: 1, inFlight: 0 })
    })

    it('may be a coroutine, and many calls of it run in parallel', async () => {
      const { host } = shared()
      const calls = Array.from({ length: 50 }, (_, n) => host.call({ module: 'slow', args: ['x', { n }] }))
      const values = (await Promise.all(calls)).map(expectValue)
      assert.deepEqual(
        values,
        Array.from({ length: 50 }, (_, n) => n * 2),
      )
    })

    it('may log, send and start an agent through its third argument', async () => {
      const asked: (readonly unknown[])[] = []
      const onRequest = async ({ method, args, module }: HostRequest) => {
        asked.push([module, method, ...args])
        return `${method} done`
      }
      const { host, log } = shared()
      const result = await host.call({ module: 'services', args: ['x', {}], services: true, onRequest })
      assert.deepEqual(expectValue(result), [false, 'send done', 'startAgent done'])
      assert.deepEqual(asked, [
        ['services', 'send', 'telegram:1', 'hello'],
        ['services', 'startAgent', 'look after it', { maxIterations: 3 }],
      ])
      const line = await log.waitForLine(/at work/)
      assert.deepEqual(line, {
        level: 'info',
        fields: { host: 'hooks', chats: 2, module: 'services' },
        text: 'at work',
      })
    })

    it('receives a failed request as an error with name, code and message', async () => {
      const onRequest = async () => {
        throw new HermesError('cli/not-found', 'No such chat.')
      }
      const { host } = shared()
      const result = await host.call({ module: 'asks', args: ['x', {}], services: true, onRequest })
      const [name, code, message] = z.tuple([z.string(), z.string(), z.string()]).parse(expectValue(result))
      assert.deepEqual([name, code, message.endsWith('No such chat.')], ['HermesError', 'cli/not-found', true])
    })

    it('cannot send requests after its call has ended', async () => {
      const onRequest = async () => assert.fail('nothing was to be asked')
      const { host } = shared()
      await host.call({ module: 'keeps', args: ['x', {}], services: true, onRequest })
      const result = await host.call({ module: 'keeps', function: 'later', args: [] })
      assert.match(String(expectValue(result)), /^send: /)
    })

    it('does not block other calls while it waits for a response, not even those of its own module', async () => {
      const release = Promise.withResolvers<string>()
      const asked = Promise.withResolvers<void>()
      const onRequest = () => {
        asked.resolve()
        return release.promise
      }
      const { host } = shared()
      const waiting = host.call({ module: 'waits', args: ['x', {}], services: true, onRequest })
      await asked.promise
      assert.equal(expectValue(await host.call({ module: 'waits', function: 'quick', args: [] })), 'quick')
      assert.equal(host.status().inFlight, 1)
      release.resolve('at last')
      assert.equal(expectValue(await waiting), 'at last')
    })

    it('is served in the async context of its call', async () => {
      const scope = new AsyncLocalStorage<string>()
      const onRequest = async () => scope.getStore() ?? 'nowhere'
      const { host } = shared()
      const call = (where: string) =>
        scope.run(where, () => host.call({ module: 'waits', args: ['x', {}], services: true, onRequest }))
      const values = await Promise.all(['turn one', 'turn two', 'turn three'].map(call))
      assert.deepEqual(values.map(expectValue), ['turn one', 'turn two', 'turn three'])
    })

    it('may return a value that is not JSON when its result is not used', async () => {
      const { host } = shared()
      const unwanted = await host.call({ module: 'opaque', args: ['x', {}], discardResult: true })
      assert.equal(expectValue(unwanted), null)
      const wanted = expectFailure(await host.call({ module: 'opaque', args: ['x', {}] }))
      assert.equal(wanted.kind, 'unserialisable')
      assert.match(wanted.error.detail, /^opaque\b/)
    })

    it('may receive and return megabytes', async () => {
      const { host } = shared()
      const context = { text: 'ä'.repeat(1_500_000) }
      const result = await host.call({ module: 'echo', args: ['x', context] })
      assert.deepEqual(expectValue(result), { event: 'x', context })
    })

    it('that returns nothing returns null', async () => {
      const { host } = shared()
      assert.equal(expectValue(await host.call({ module: 'nothing', args: ['x', {}] })), null)
    })

    it('that is not exported is reported by its name', async () => {
      const { host } = shared()
      const failure = expectFailure(await host.call({ module: 'echo', function: 'absent', args: [] }))
      assert.deepEqual([failure.kind, failure.started], ['unloadable', false])
      assert.match(failure.error.message, /absent/)
    })
  })

  describe(`middleware in ${language}`, { skip, timeout }, () => {
    const shared = createSharedHost({ files })

    const response = { choices: [{ text: 'ok' }] }
    const args = { path: 'notes.txt' }
    const call = (fn: string, onRequest: (request: HostRequest) => Promise<unknown>) => ({
      module: 'middleware',
      function: fn,
      args: [],
      keywords: { args },
      callbacks: ['next_call'],
      byReference: true,
      onRequest,
    })

    it('that changes nothing passes on the identical objects', async () => {
      const { host } = shared()
      const seen: unknown[] = []
      const result = await host.call(
        call('same', async ({ method, args: [payload] }) => {
          seen.push(method, payload)
          return response
        }),
      )
      assert.equal(seen[0], 'next_call')
      assert.equal(seen[1], args)
      assert.equal(expectValue(result), response)
    })

    it('that changes something passes on a copy with the change', async () => {
      const { host } = shared()
      const seen: unknown[] = []
      const serve = async ({ args: [payload] }: HostRequest) => {
        seen.push(payload)
        return response
      }
      const other = expectValue(await host.call(call('other', serve)))
      assert.deepEqual(seen, [{ path: 'notes.txt', more: true }])
      assert.deepEqual(other, response)
      assert.notEqual(other, response)
      const edited = expectValue(await host.call(call('edited', serve)))
      assert.deepEqual(edited, { ...response, edited: 1 })
      assert.deepEqual(response, { choices: [{ text: 'ok' }] })
    })

    it('that rethrows an error fails with the identical error, and with a new one if it replaces it', async () => {
      const { host } = shared()
      const original = new Error('the provider is down')
      const serve = async () => {
        throw original
      }
      const passed = expectFailure(await host.call(call('same', serve)))
      assert.equal(passed.kind, 'threw')
      assert.equal(passed.thrown, original)
      const translated = expectFailure(await host.call(call('translated', serve)))
      assert.match(translated.error.message, /mine: the provider is down/)
      assert.equal('thrown' in translated, false)
    })
  })
}

describe('a handler in JavaScript', { timeout }, () => {
  it('may be the default export or a CommonJS export', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'a.mjs': 'export default (event) => "default " + event',
        'b.cjs': 'module.exports = { handle: (event) => "cjs " + event }',
        'c.js': 'module.exports = (event) => "plain " + event',
        'd.js': 'export function handle(event) { return "module " + event }',
      },
    })
    const values = ['a', 'b', 'c', 'd'].map(async (module) => expectValue(await host.call({ module, args: ['x'] })))
    assert.deepEqual(await Promise.all(values), ['default x', 'cjs x', 'plain x', 'module x'])
  })

  it('may import #sdk', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'a.ts': `import { HermesError, type Logger } from '#sdk'
          export const handle = () => new HermesError('cli/failed').code`,
      },
    })
    assert.equal(expectValue(await host.call({ module: 'a', args: [] })), 'cli/failed')
  })
})

describe('a handler in Python', { skip: withoutPython, timeout }, () => {
  it('receives a third argument only if it declares one', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'two.py': 'def handle(event_type, context):\n  return 2',
        'three.py': 'def handle(event_type, context, services=None):\n  return services is not None',
        'star.py': 'def handle(*args, **more):\n  return len(args)',
        'wrapped.py': `
import functools
def traced(function):
    @functools.wraps(function)
    def wrapper(*args, **more):
        return function(*args, **more)
    return wrapper
@traced
def handle(event_type, context):
    return "two"`,
        'method.py': `
class Hook:
    async def handle(self, event_type, context, services):
        return [event_type, services.signal.aborted]
handle = Hook().handle`,
      },
    })
    const modules = ['two', 'three', 'star', 'wrapped', 'method']
    const call = async (module: string) => expectValue(await host.call({ module, args: ['x', {}], services: true }))
    assert.deepEqual(await Promise.all(modules.map(call)), [2, true, 2, 'two', ['x', false]])
  })

  it('runs in the thread in which its module was loaded', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'a.py': `
import sqlite3
database = sqlite3.connect(":memory:")
database.execute("create table seen (event text)")
def handle(event_type, context):
    database.execute("insert into seen values (?)", [event_type])
    return database.execute("select count(*) from seen").fetchone()[0]`,
      },
    })
    const values = []
    for (let n = 0; n < 3; n++) values.push(expectValue(await host.call({ module: 'a', args: ['x', {}] })))
    assert.deepEqual(values, [1, 2, 3])
  })

  it('may keep clients, locks and tasks of its event loop from call to call', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'a.py': `
import asyncio
done = None
async def work():
    global done
    await asyncio.sleep(0.02)
    done.set()
async def handle(event_type, context):
    global done, task
    if event_type == "begin":
        done = asyncio.Event()
        task = asyncio.create_task(work())
    else:
        await done.wait()
        return "the task went on after its call"`,
      },
    })
    await host.call({ module: 'a', args: ['begin', {}] })
    const result = await host.call({ module: 'a', args: ['end', {}], deadlineMs: 5_000 })
    assert.equal(expectValue(result), 'the task went on after its call')
  })

  it('may be synchronous and run its own event loop, beside one that is a coroutine', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'a.py': `
import asyncio, sys
async def handle(event_type, context):
    async def leave():
        sys.exit(1)
    context["task"] = asyncio.create_task(leave())
    await asyncio.sleep(0)
    return "coroutine"
def plain():
    return asyncio.run(asyncio.sleep(0, "loop of its own"))`,
      },
    })
    for (let round = 0; round < 2; round++) {
      assert.equal(expectValue(await host.call({ module: 'a', args: ['x', {}], deadlineMs: 20_000 })), 'coroutine')
      assert.equal(expectValue(await host.call({ module: 'a', function: 'plain', args: [] })), 'loop of its own')
    }
  })

  it('imports helpers of its own folder and packages of PYTHONPATH, and two may have helpers of one name', async (t) => {
    const { host } = createTestHost(t, {
      env: (folder) => ({ PYTHONPATH: join(folder, 'stand-ins') }),
      files: {
        'stand-ins/httpx.py': 'name = " with httpx"',
        'one/handler.py': 'import helpers, httpx\ndef handle(*_):\n  return helpers.name + httpx.name',
        'one/helpers.py': 'name = "one"',
        'two/handler.py': 'import helpers\ndef handle(*_):\n  import late\n  return helpers.name + late.name',
        'two/helpers.py': 'name = "two"',
        'two/late.py': 'name = " late"',
      },
    })
    const call = async (module: string) => expectValue(await host.call({ module, args: [] }))
    assert.deepEqual(await Promise.all([call('one'), call('two')]), ['one with httpx', 'two late'])
    assert.equal(await call('one'), 'one with httpx')
  })

  it('has the module name of the contract, and may use data classes and postponed annotations', async (t) => {
    const { host } = createTestHost(t, {
      files: {
        'my-hook.py': `
from __future__ import annotations
import dataclasses, pathlib
@dataclasses.dataclass
class Entry:
    name: str
    more: dataclasses.InitVar[int] = 1
def handle(event_type, context):
    return [__name__, Entry("x").name, pathlib.Path(__file__).name]`,
      },
    })
    const value = expectValue(await host.call({ module: 'my-hook', args: ['x', {}] }))
    assert.deepEqual(value, ['hermes_hook_my-hook', 'x', 'my-hook.py'])
  })
})
