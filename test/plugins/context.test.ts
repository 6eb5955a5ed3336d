/**
 * The `ctx` of a plugin: what it knows of itself, what each registration gives back, and what it may do when it is over.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { isHermesError } from '../../src/lib/errors.ts'
import type { PluginContext } from '../../src/plugins/contract.ts'
import { createTestLoader, type LoaderSetup } from './loader-support.ts'

/** Loads one plugin whose context the test keeps. */
async function contextOf(t: TestContext, setup: LoaderSetup = {}) {
  let context: PluginContext | undefined
  const loading = createTestLoader(t, {
    files: {
      'cat/mine/plugin.yaml': 'name: Mine\nversion: 2.1.0\nconfig_schema: {tone: {type: string, default: dry}}\n',
      'cat/mine/__init__.py': '',
    },
    loadPython: async (_plugin, given) => {
      context = given
    },
    ...setup,
  })
  await loading.loader.sync()
  assert.ok(context !== undefined)
  loading.registrationLog.length = 0
  return { ...loading, ctx: context }
}

const nothing = () => undefined

test('a context contains the id, version, directory and settings of its plugin', async (t) => {
  const { ctx, directory } = await contextOf(t)
  assert.deepEqual(
    [ctx.pluginId, ctx.version, ctx.directory, ctx.config.get('tone')],
    ['cat/mine', '2.1.0', `${directory}/cat/mine`, 'dry'],
  )
  assert.deepEqual([ctx.hasPlugin('mine'), ctx.hasPlugin('cat/mine'), ctx.hasPlugin('other')], [true, true, false])
})

test('log lines of a plugin contain its id', async (t) => {
  const { ctx, log } = await contextOf(t)
  ctx.log.info({ a: 1 }, 'hello')
  assert.deepEqual((await log.waitForLine(/^hello$/)).fields, { plugin: 'cat/mine', a: 1 })
})

test('every registration returns a handle that removes it once', async (t) => {
  const { ctx, registrationLog, loader } = await contextOf(t)
  const handles = [
    ctx.registerGuardrail('g', 'tool', nothing),
    ctx.registerIntercept('i', 'tool_request', ({ args }) => args),
    ctx.registerSanitizer('s', 'tool_request', nothing),
    ctx.registerSubscriber('u', nothing),
    ctx.registerMiddleware('tool_execution', ({ next_call }) => next_call()),
    ctx.registerHook('post_tool_call', nothing),
    ctx.registerTool({ name: 't', description: 'x', parameters: { type: 'object' }, run: nothing }),
    ctx.registerCommand({ name: 'c', description: 'x', run: nothing }),
    ctx.registerMemoryProvider({ name: 'm' }),
    ctx.registerSystemPromptSection('p', 'text'),
    ctx.registerBackgroundDaemon('d', nothing, nothing),
  ]
  const made = [...registrationLog]
  assert.deepEqual(
    made.map((line) => line.replace(' of cat/mine', '')),
    [
      'guardrail g',
      'intercept i',
      'sanitizer s',
      'subscriber u',
      'middleware tool_execution',
      'hook post_tool_call',
      'tool t',
      'command c',
      'memory m',
      'section p',
      'daemon d',
    ],
  )
  assert.equal(loader.list()[0]?.registered.length, handles.length)
  registrationLog.length = 0
  for (const handle of handles) assert.deepEqual([handle.remove(), handle.remove()], [true, false], handle.name)
  assert.deepEqual(
    registrationLog,
    made.map((line) => `-${line}`),
  )
  assert.deepEqual(loader.list()[0]?.registered, [])
  registrationLog.length = 0
  await loader.stop()
  assert.deepEqual(registrationLog, ['daemons of cat/mine stopped'])
})

test('only a plugin of the kind platform can register a platform', async (t) => {
  const { ctx } = await contextOf(t)
  const platform = { createAdapter: () => Promise.reject(new Error('never')) }
  assert.throws(
    () => Reflect.apply(ctx.registerPlatform, ctx, [platform]),
    (error) => isHermesError(error, 'plugins/not-a-platform'),
  )
})

test('requests carry the id of the plugin and are rejected after it is unloaded', async (t) => {
  const asked: unknown[] = []
  const { ctx, loader } = await contextOf(t, {
    services: {
      injectMessage: async (...call) => asked.push(call) > 0,
      dispatchTool: async (...call) => `call ${asked.push(call)}`,
    },
  })
  assert.equal((await ctx.llm.complete('hi')).text, 'answer to hi')
  assert.equal(await ctx.injectMessage('hello', { sessionKey: 'k' }), true)
  assert.equal(await ctx.dispatchTool('todo', { a: 1 }), 'call 2')
  assert.deepEqual(asked, [
    ['cat/mine', 'hello', { sessionKey: 'k' }],
    ['cat/mine', 'todo', { a: 1 }],
  ])
  await loader.stop()
  const over = (error: unknown) => isHermesError(error, 'plugins/unloaded')
  await assert.rejects(ctx.llm.complete('hi'), over)
  await assert.rejects(ctx.injectMessage('hi'), over)
  await assert.rejects(ctx.dispatchTool('todo', {}), over)
  assert.throws(() => ctx.registerHook('post_tool_call', nothing), over)
  assert.throws(() => ctx.onUnload(nothing), over)
  assert.equal(ctx.hasPlugin('mine'), false)
})

test('a rejected registration is not listed as registered', async (t) => {
  const { ctx, loader } = await contextOf(t, {
    services: {
      commands: {
        register() {
          throw new Error('taken')
        },
        check: nothing,
      },
    },
  })
  assert.throws(() => ctx.registerCommand({ name: 'c', description: '', run: nothing }), { message: 'taken' })
  assert.deepEqual(loader.list()[0]?.registered, [])
})
