/**
 * Which plugins are loaded, and what becomes of those that cannot be.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemCode } from '../../src/lib/errors.ts'
import { type CallbackTrace, createCallbackObserver } from '../../src/plugins/callback-trace.ts'
import { setUp } from '../middleware/support.ts'
import { createTestLoader, pluginFiles } from './loader-support.ts'

const hook = `ctx.registerHook('pre_tool_call', () => undefined)`

test('only enabled plugins are loaded, and a disabled plugin is not loaded under any of its names', async (t) => {
  const files = { ...pluginFiles('one', hook), ...pluginFiles('cat/two', hook), ...pluginFiles('cat/three', hook) }
  const loading = createTestLoader(t, { files, plugins: { enabled: ['two', 'cat/three'], disabled: 'three' } })
  await loading.loader.sync()
  const states = loading.loader.list().map(({ id, state }) => `${id} ${state}`)
  assert.deepEqual(states, ['cat/three disabled', 'cat/two loaded', 'one off'])
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of cat/two'])
  assert.deepEqual(loading.loader.failures(), [])
})

test('an id with its category enables that plugin only, not another one with the same folder name', async (t) => {
  const loading = createTestLoader(t, {
    files: pluginFiles('obs/otel', hook),
    bundled: pluginFiles('otel', hook),
    plugins: { enabled: ['otel'] },
  })
  await loading.loader.sync()
  assert.deepEqual([loading.report('otel').state, loading.report('obs/otel').state], ['loaded', 'off'])
  loading.configure({ enabled: ['obs/otel'], disabled: ['otel'] })
  await loading.loader.sync()
  assert.deepEqual([loading.report('otel').state, loading.report('obs/otel').state], ['disabled', 'loaded'])
})

test('memory.provider enables the plugin of the provider', async (t) => {
  const files = pluginFiles('memory/notes', `ctx.registerMemoryProvider({ name: 'notes' })`)
  const loading = createTestLoader(t, { files, plugins: {}, memory: { provider: 'notes' } })
  await loading.loader.sync()
  assert.equal(loading.report('memory/notes').state, 'loaded')
  assert.equal(loading.report('memory/notes').kind, 'exclusive')
})

test('an enabled plugin that is not installed is reported with a similar name', async (t) => {
  const loading = createTestLoader(t, {
    files: pluginFiles('obs/metrics', ''),
    plugins: { enabled: ['metrcs', 'nowhere'] },
  })
  await loading.loader.sync()
  assert.deepEqual(loading.loader.failures(), [
    {
      id: 'metrcs',
      state: 'missing',
      reason: 'plugins.enabled names a plugin that is not installed; did you mean metrics?',
    },
    { id: 'nowhere', state: 'missing', reason: 'plugins.enabled names a plugin that is not installed' },
  ])
})

test('a plugin is enabled by its folder or by the name in its manifest', async (t) => {
  const named = (folder: string, name: string) => ({
    ...pluginFiles(folder, hook),
    [`${folder}/plugin.yaml`]: `name: ${name}\n`,
  })
  const files = {
    ...named('hermes-metrics', 'metrics'),
    ...named('notes-plugin', 'notes'),
    ...named('other', 'left-out'),
  }
  const loading = createTestLoader(t, {
    files,
    plugins: { enabled: ['metrics', 'notes-plugin', 'left-out'], disabled: ['left-out'] },
  })
  await loading.loader.sync()
  assert.equal(loading.report('hermes-metrics').state, 'loaded')
  assert.equal(loading.report('notes-plugin').state, 'loaded')
  assert.equal(loading.report('other').state, 'disabled')
  assert.deepEqual(loading.loader.failures(), [])
})

test('a name that fits two plugins enables neither, and both are named', async (t) => {
  const files = {
    ...pluginFiles('a-plugin', hook),
    ...pluginFiles('obs/metrics', hook),
    'a-plugin/plugin.yaml': 'name: metrics\n',
  }
  const loading = createTestLoader(t, { files, plugins: { enabled: ['metrics'] } })
  await loading.loader.sync()
  for (const id of ['a-plugin', 'obs/metrics']) assert.equal(loading.report(id).state, 'off')
  const [failure] = loading.loader.failures()
  assert.match(failure?.reason ?? '', /a-plugin and obs\/metrics have this name/)
})

test('a disabled name that fits two plugins disables both, and both are named', async (t) => {
  const files = {
    ...pluginFiles('a-plugin', hook, 'name: metrics\n'),
    ...pluginFiles('obs/metrics', hook),
  }
  const plugins = { enabled: ['a-plugin', 'obs/metrics'], disabled: ['metrics'] }
  const loading = createTestLoader(t, { files, plugins })
  await loading.loader.sync()
  for (const id of ['a-plugin', 'obs/metrics']) assert.equal(loading.report(id).state, 'disabled')
  const said = loading.log.records.map(({ fields }) => `${fields['reason']}`).join('\n')
  assert.match(said, /a-plugin and obs\/metrics have this name/)
})

test('a plugin that fails to load leaves no registrations, reports the location, and does not affect others', async (t) => {
  const loading = createTestLoader(t, {
    files: {
      ...pluginFiles('a-good', hook),
      ...pluginFiles(
        'b-throws',
        `${hook}; ctx.registerTool({ name: 'x', description: '', parameters: {}, run() {} })\nthrow new Error('no luck')`,
      ),
      ...pluginFiles('c-syntax', 'this is no program'),
      'd-nothing/plugin.yaml': 'name: d\n',
      'd-nothing/index.js': 'export const other = 1',
      'e-import/plugin.yaml': 'name: e\n',
      'e-import/index.js': "import 'nowhere-to-be-found'\nexport const register = () => undefined",
      'f-invalid/plugin.yaml': 'name: []\n',
      'g-python/plugin.yaml': 'name: g\n',
      'g-python/__init__.py': '',
      ...pluginFiles('h-good', hook),
      ...pluginFiles('i-unhandled', `ctx.registerHook('pre_tool_call', undefined)`),
    },
  })
  await loading.loader.sync()
  const reason = (id: string) => loading.report(id).reason.replaceAll(loading.directory, '')
  const errorCode = (id: string) =>
    systemCode(
      loading.log.records.find(({ fields }) => fields['event'] === 'plugin.load_failed' && fields['plugin'] === id)
        ?.fields['err'],
    )
  assert.equal(reason('b-throws'), '/b-throws/index.js:2: no luck')
  assert.match(reason('c-syntax'), /^\/c-syntax\/index\.js:1: Unexpected/)
  assert.match(reason('d-nothing'), /^\/d-nothing\/index\.js: /)
  assert.equal(errorCode('d-nothing'), 'plugins/unloadable')
  assert.match(reason('e-import'), /^\/e-import\/index\.js: Cannot find package 'nowhere-to-be-found'/)
  assert.match(reason('f-invalid'), /^\/f-invalid\/plugin\.yaml:1:7: name: /)
  assert.match(reason('g-python'), /Python/)
  assert.match(reason('i-unhandled'), /\bpre_tool_call\b.*\bundefined\b/)
  assert.equal(errorCode('i-unhandled'), 'plugins/invalid-registration')
  const states = Object.groupBy(loading.loader.list(), ({ state }) => state)
  assert.deepEqual(
    states.loaded?.map(({ id }) => id),
    ['a-good', 'h-good'],
  )
  assert.equal(states.failed?.length, 6)
  assert.equal(states.invalid?.length, 1)
  assert.equal(loading.loader.failures().length, 7)
  assert.deepEqual(
    loading.registrationLog.filter((line) => line.includes('b-throws')),
    [
      'hook pre_tool_call of b-throws',
      'tool x of b-throws',
      '-tool x of b-throws',
      '-hook pre_tool_call of b-throws',
      'daemons of b-throws stopped',
    ],
  )
})

test('the plugins after one that fails are loaded, whatever value its register function throws', async (t) => {
  const thrown = [
    'null',
    'Object.freeze(new Error("frozen"))',
    'Object.defineProperty(new Error("x"), "stack", { get() { throw 1 } })',
    'Object.assign(new Error("x"), { stack: 5 })',
    'Object.assign(new Error("x"), { stack: "file:///%2F:1\\n" })',
    'new Proxy({}, { getPrototypeOf() { throw 2 } })',
  ]
  const files = Object.assign(
    {},
    ...thrown.map((what, index) => pluginFiles(`throws-${index}`, `throw ${what}`)),
    pluginFiles('z-good', hook),
  )
  const loading = createTestLoader(t, { files })
  await loading.loader.sync()
  assert.equal(loading.report('z-good').state, 'loaded')
  for (const index of thrown.keys()) assert.match(loading.report(`throws-${index}`).reason, /.+: .+/)
})

test('register can be the default export or a property of it', async (t) => {
  const files = {
    'a/plugin.yaml': 'name: a\n',
    'a/index.mjs': `export default (ctx) => { ${hook} }`,
    'b/plugin.yaml': 'name: b\n',
    'b/index.ts': `import type { Register } from '#sdk'\nconst register: Register = (ctx) => { ${hook} }\nexport default { register }`,
  }
  const loading = createTestLoader(t, { files })
  await loading.loader.sync()
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of a', 'hook pre_tool_call of b'])
  assert.equal(loading.report('b').language, 'typescript')
})

test('a register function that does not end fails after its timeout, and its later registrations are rejected', async (t) => {
  const body = `globalThis.laterRegistered = new Promise((resolve) => ctx.onUnload(() => setImmediate(() => {
    try { ctx.registerHook('pre_tool_call', () => undefined); resolve('registered') } catch (error) { resolve(error.code) }
  }))); await new Promise(() => undefined)`
  const loading = createTestLoader(t, { files: pluginFiles('slow', body), registerTimeoutMs: 20 })
  await loading.loader.sync()
  assert.match(loading.report('slow').reason, /\b20 ms\b/)
  assert.equal(await Reflect.get(globalThis, 'laterRegistered'), 'plugins/unloaded')
  Reflect.deleteProperty(globalThis, 'laterRegistered')
})

test('a plugin is loaded only when its variables are set and its version requirement is met', async (t) => {
  const environment: Record<string, string> = { SET: 'x', EMPTY: '' }
  const loading = createTestLoader(t, {
    files: {
      ...pluginFiles('env', hook, 'name: env\nrequires_env: [SET, EMPTY, UNSET]\n'),
      ...pluginFiles('new', hook, 'name: new\nrequires_hermes: ">=0.30"\n'),
      ...pluginFiles('odd', hook, 'name: odd\nrequires_hermes: soon\n'),
      ...pluginFiles('fits', hook, 'name: fits\nrequires_hermes: ">=0.19 <1"\n'),
      ...pluginFiles('model', hook, 'name: model\nkind: model-provider\n'),
    },
    environment,
  })
  await loading.loader.sync()
  assert.deepEqual(loading.report('env').reason.match(/\b[A-Z]{2,}\b/g), ['EMPTY', 'UNSET'])
  assert.match(loading.report('new').reason, />=0\.30\b.*\b0\.21\.3\b/)
  assert.match(loading.report('odd').reason, /requires_hermes: .*soon/)
  assert.match(loading.report('model').reason, /model-provider/)
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of fits'])
  Object.assign(environment, { EMPTY: 'y', UNSET: 'z' })
  await loading.loader.sync()
  assert.equal(loading.report('env').state, 'loaded')
})

test('a loaded plugin whose variable is removed stays in force and is reported, until it is disabled', async (t) => {
  const environment: Record<string, string> = { KEY: 'x' }
  const files = pluginFiles('guard', hook, 'name: guard\nrequires_env: [KEY]\n')
  const loading = createTestLoader(t, { files, environment })
  await loading.loader.sync()
  environment['KEY'] = ''
  await loading.loader.sync([])
  const { state, problem, warnings } = loading.report('guard')
  assert.deepEqual([state, warnings], ['loaded', [problem]])
  assert.match(problem, /\bKEY\b/)
  assert.deepEqual(
    loading.loader.failures().map((failure) => [failure.id, failure.state]),
    [['guard', 'old version']],
  )
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of guard'])
  environment['KEY'] = 'y'
  await loading.loader.sync([])
  assert.deepEqual([loading.report('guard').problem, loading.loader.failures()], ['', []])
  loading.configure({ enabled: [] })
  await loading.loader.sync()
  assert.equal(loading.registrationLog[1], '-hook pre_tool_call of guard')
})

test('plugins are loaded after their requirements and report missing ones', async (t) => {
  const loading = createTestLoader(t, {
    files: {
      ...pluginFiles('a', hook, 'name: a\nversion: 1.4.0\nrequires_plugins: [c]\n'),
      ...pluginFiles('b', hook, "name: b\nrequires_plugins: [{id: a, version_range: '>=2'}, gone, off]\n"),
      ...pluginFiles('c', `if (ctx.hasPlugin('a')) throw new Error('too early'); ${hook}`),
      ...pluginFiles('off', ''),
    },
    plugins: { enabled: ['a', 'b', 'c'] },
  })
  await loading.loader.sync()
  assert.deepEqual(loading.registrationLog, [
    'hook pre_tool_call of c',
    'hook pre_tool_call of a',
    'hook pre_tool_call of b',
  ])
  assert.deepEqual(loading.report('b').warnings, [
    'it requires a >=2; version 1.4.0 is installed',
    'it requires the plugin gone, which is not enabled',
    'it requires the plugin off, which is not enabled',
  ])
  assert.deepEqual(loading.report('b').requires, ['a', 'gone', 'off'])
})

test('a plugin that is required by the name in its manifest is loaded first, and found by that name', async (t) => {
  const files = {
    ...pluginFiles('a-reader', `if (!ctx.hasPlugin('notes')) throw new Error('too early'); ${hook}`),
    'a-reader/plugin.yaml': "name: a-reader\nrequires_plugins: [{id: notes, version_range: '>=1'}]\n",
    ...pluginFiles('notes-plugin', hook, 'name: notes\nversion: 1.2.0\n'),
  }
  const loading = createTestLoader(t, { files, plugins: { enabled: ['a-reader', 'notes'] } })
  await loading.loader.sync()
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of notes-plugin', 'hook pre_tool_call of a-reader'])
  assert.deepEqual(loading.report('a-reader').warnings, [])
})

test('plugins that require each other are loaded with a warning', async (t) => {
  const files = {
    ...pluginFiles('b', hook, 'name: b\nrequires_plugins: a\n'),
    ...pluginFiles('a', hook, 'name: a\nrequires_plugins: b\n'),
  }
  const loading = createTestLoader(t, { files })
  await loading.loader.sync()
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of a', 'hook pre_tool_call of b'])
  assert.deepEqual(loading.report('a').warnings, [
    'the plugins a, b require each other (dependency cycle); they are loaded in alphabetical order',
  ])
})

test('stopping calls onUnload and removes all registrations in reverse order', async (t) => {
  const loading = createTestLoader(t, {
    files: {
      ...pluginFiles('a', `${hook}; ctx.registerMiddleware('tool_request', () => null)`),
      ...pluginFiles(
        'b',
        `ctx.onUnload(() => ctx.log.info({}, 'first')); ctx.onUnload(() => { ctx.log.info({}, 'second'); throw new Error('oh') })
         ctx.registerCommand({ name: 'x', description: '', run: () => '' })
         ctx.registerBackgroundDaemon('d', () => undefined, () => undefined)`,
      ),
    },
  })
  await loading.loader.sync()
  loading.registrationLog.length = 0
  await loading.loader.stop()
  await loading.loader.stop()
  assert.deepEqual(loading.registrationLog, [
    '-daemon d of b',
    '-command x of b',
    'daemons of b stopped',
    '-middleware tool_request of a',
    '-hook pre_tool_call of a',
    'daemons of a stopped',
  ])
  const logged = loading.log.records
    .map(({ fields, text }) => fields['event'] ?? text)
    .filter((entry) => entry === 'first' || entry === 'second' || entry === 'plugin.unload_failed')
  assert.deepEqual(logged, ['second', 'plugin.unload_failed', 'first'])
})

test('a changed configuration loads added plugins and unloads removed ones; the others are not reloaded', async (t) => {
  const files = { ...pluginFiles('a', hook), ...pluginFiles('b', hook), ...pluginFiles('c', hook) }
  const loading = createTestLoader(t, { files, plugins: { enabled: ['a', 'b'] } })
  await loading.loader.sync()
  loading.registrationLog.length = 0
  loading.configure({ enabled: ['b', 'c'] })
  await Promise.all([loading.loader.sync(), loading.loader.sync()])
  assert.deepEqual(loading.registrationLog, [
    '-hook pre_tool_call of a',
    'daemons of a stopped',
    'hook pre_tool_call of c',
  ])
  loading.configure({ enabled: ['b', 'c', 'a'] })
  await loading.loader.sync()
  assert.equal(loading.registrationLog.at(-1), 'hook pre_tool_call of a')
})

test('a plugin with a syntax error is loaded after its file was repaired, although Node caches failed imports', async (t) => {
  const loading = createTestLoader(t, { files: pluginFiles('repaired', 'still wrong') })
  await loading.loader.sync()
  assert.equal(loading.report('repaired').state, 'failed')
  loading.write(pluginFiles('repaired', hook))
  await loading.loader.sync()
  assert.deepEqual([loading.report('repaired').state, loading.report('repaired').reason], ['loaded', ''])
})

test('a plugin whose register failed is loaded after it was repaired', async (t) => {
  const loading = createTestLoader(t, { files: pluginFiles('repaired', `throw new Error('not yet')`) })
  await loading.loader.sync()
  await loading.loader.sync()
  assert.match(loading.report('repaired').reason, /not yet/)
  loading.write(pluginFiles('repaired', hook))
  await loading.loader.sync()
  const { state, reason, warnings } = loading.report('repaired')
  assert.deepEqual([state, reason, warnings], ['loaded', '', []])
})

test('a plugin that took long to fail is retried only after an edit or after it was disabled', async (t) => {
  let now = 0
  const calls: string[] = []
  const slow = pluginFiles(
    'slow',
    `ctx.log.info({}, 'tried'); await ctx.llm.complete('wait'); throw new Error('at last')`,
  )
  const complete = async () => {
    now += 6_000
    calls.push('waited')
    return { text: '', model: '', usage: {} }
  }
  const options = { files: { ...slow, ...pluginFiles('z', hook) }, clock: () => now, services: { complete } }
  const loading = createTestLoader(t, { ...options, plugins: { enabled: ['slow'] } })
  await loading.loader.sync()
  loading.configure({ enabled: ['slow', 'z'] })
  await loading.loader.sync()
  assert.deepEqual([calls.length, loading.report('z').state], [1, 'loaded'])
  assert.match(loading.report('slow').reason, /at last/)
  loading.configure({ enabled: ['z'] })
  await loading.loader.sync()
  loading.configure({ enabled: ['slow', 'z'] })
  await loading.loader.sync()
  assert.equal(calls.length, 2)
  loading.write(pluginFiles('slow', hook))
  await loading.loader.sync()
  assert.equal(loading.report('slow').state, 'loaded')
})

test('a plugin that was edited while it was off has its new code when it is enabled again', async (t) => {
  const loading = createTestLoader(t, { files: pluginFiles('old', hook) })
  await loading.loader.sync()
  loading.configure({})
  await loading.loader.sync()
  loading.write(pluginFiles('old', `${hook}; ${hook}`))
  loading.configure({ enabled: ['old'] })
  await loading.loader.sync()
  assert.deepEqual(loading.report('old').warnings, [])
  assert.equal(loading.report('old').registered.length, 2)
})

test('an edited plugin is reloaded when the change is reported, not earlier', async (t) => {
  const loading = createTestLoader(t, { files: { ...pluginFiles('one', hook), ...pluginFiles('two', hook) } })
  await loading.loader.sync()
  loading.write(pluginFiles('one', `${hook}; ${hook}`))
  await loading.loader.sync()
  assert.equal(loading.report('one').registered.length, 1)
  loading.registrationLog.length = 0
  await loading.loader.sync([])
  assert.equal(loading.report('one').registered.length, 2)
  assert.equal(
    loading.registrationLog.some((entry) => entry.endsWith('of two')),
    false,
  )
})

test('an edited plugin that cannot be imported leaves the previous version loaded until it is repaired', async (t) => {
  const loading = createTestLoader(t, { files: pluginFiles('guard', hook) })
  await loading.loader.sync()
  const [file = ''] = Object.keys(pluginFiles('guard', hook)).filter((name) => /index/.test(name))
  loading.write({ [file]: 'export function register( {' })
  await loading.loader.sync([])
  assert.equal(loading.report('guard').state, 'loaded')
  assert.equal(loading.report('guard').registered.length, 1)
  assert.equal(loading.report('guard').warnings.length, 1)
  assert.deepEqual(
    loading.loader.failures().map(({ id, state }) => [id, state]),
    [['guard', 'old version']],
  )
  loading.write(pluginFiles('guard', `${hook}; ${hook}`))
  await loading.loader.sync([])
  assert.deepEqual([loading.report('guard').warnings, loading.loader.failures()], [[], []])
  assert.equal(loading.report('guard').registered.length, 2)
})

test('a loaded plugin whose folder becomes invalid stays in force and is reported, until it is disabled', async (t) => {
  const loading = createTestLoader(t, { files: pluginFiles('guard', hook) })
  await loading.loader.sync()
  loading.write({ 'guard/plugin.yaml': 'name: [' })
  await loading.loader.sync([])
  const { state, reason, registered } = loading.report('guard')
  assert.deepEqual([state, registered.length], ['invalid', 1])
  assert.match(reason, /stays in force/)
  assert.deepEqual(
    loading.loader.failures().map((failure) => [failure.id, failure.state]),
    [['guard', 'invalid']],
  )
  assert.deepEqual(loading.registrationLog, ['hook pre_tool_call of guard'])
  loading.configure({ enabled: [] })
  await loading.loader.sync()
  assert.equal(loading.registrationLog[1], '-hook pre_tool_call of guard')
})

test('an edited plugin whose register throws leaves the previous version loaded until it is repaired', async (t) => {
  const loading = createTestLoader(t, { files: pluginFiles('guard', hook) })
  await loading.loader.sync()
  loading.write(pluginFiles('guard', `${hook}; throw new Error('broken')`))
  await loading.loader.sync([])
  assert.equal(loading.report('guard').state, 'loaded')
  assert.equal(loading.report('guard').registered.length, 1)
  assert.equal(loading.report('guard').warnings.length, 1)
  assert.deepEqual(
    loading.loader.failures().map(({ id, state }) => [id, state]),
    [['guard', 'old version']],
  )
  loading.write(pluginFiles('guard', `${hook}; ${hook}`))
  await loading.loader.sync([])
  assert.deepEqual([loading.report('guard').warnings, loading.loader.failures()], [[], []])
  assert.equal(loading.report('guard').registered.length, 2)
})

test('the registrations of a plugin stay in force while its new version registers, and are then replaced', async (t) => {
  const { promise: registering, resolve: markRegistering } = Promise.withResolvers<void>()
  const { promise: mayContinue, resolve: proceed } = Promise.withResolvers<void>()
  const complete = async () => {
    markRegistering()
    await mayContinue
    return { text: '', model: '', usage: {} }
  }
  const guard = (more: string) =>
    pluginFiles('guard', `ctx.registerGuardrail('g', 'tool', () => null); ${hook}; ${more}`)
  const loading = createTestLoader(t, {
    files: guard(`ctx.onUnload(() => ctx.log.info({}, 'unloading'))`),
    services: { complete },
  })
  await loading.loader.sync()
  loading.registrationLog.length = 0
  loading.write(guard(`await ctx.llm.complete('wait'); ctx.registerSubscriber('s', () => {})`))
  const reloaded = loading.loader.sync([])
  await registering
  assert.deepEqual(loading.registrationLog, [])
  assert.ok(loading.log.records.some(({ text }) => text === 'unloading'))
  proceed()
  await reloaded
  assert.deepEqual(loading.registrationLog, [
    '-hook pre_tool_call of guard',
    '-guardrail g of guard',
    'guardrail g of guard',
    'hook pre_tool_call of guard',
    'subscriber s of guard',
    'daemons of guard stopped',
  ])
  assert.deepEqual(
    loading.report('guard').registered.map(({ kind, name }) => `${kind} ${name}`),
    ['guardrail g', 'hook pre_tool_call', 'subscriber s'],
  )
})

test('a version whose registration is refused does not replace the loaded one, and the location is reported', async (t) => {
  const refused = new Set<string>()
  const subscribers: string[] = []
  const middleware = {
    forPlugin: () => {
      const { middleware: real } = setUp()
      return {
        ...real,
        registerSubscriber(name: string) {
          if (refused.has(name)) throw new Error('refused')
          subscribers.push(name)
          return { name, remove: () => subscribers.splice(subscribers.indexOf(name), 1).length > 0 }
        },
      }
    },
  }
  const body = (...names: readonly string[]) =>
    pluginFiles('one', names.map((name) => `ctx.registerSubscriber('${name}', () => {});`).join('\n'))
  const loading = createTestLoader(t, { files: body('a'), services: { middleware } })
  await loading.loader.sync()
  refused.add('c')
  loading.write(body('b', 'c'))
  await loading.loader.sync([])
  assert.deepEqual(subscribers, ['a'])
  const { state, warnings } = loading.report('one')
  assert.equal(state, 'loaded')
  assert.match(warnings.join(), /one\/index\.js:2: refused/)
})

test('a plugin in Python whose new version fails keeps its registrations and its process', async (t) => {
  const stopped: string[] = []
  const unloaded: string[] = []
  let version = 'first'
  const loading = createTestLoader(t, {
    files: { 'snake/plugin.yaml': 'name: snake\n', 'snake/__init__.py': '' },
    loadPython: async (_plugin, ctx) => {
      const name = version
      ctx.registerSubscriber(name, () => undefined)
      ctx.onUnload(() => void unloaded.push(name))
      if (name === 'broken') throw new Error('broken')
      return { failureReason: () => '', warnings: () => [], stop: async () => void stopped.push(name) }
    },
  })
  await loading.loader.sync()
  for (version of ['broken', 'third']) {
    loading.write({ 'snake/__init__.py': `# ${version}` })
    await loading.loader.sync([])
    const kept = version === 'broken' ? 'first' : 'third'
    assert.deepEqual(loading.report('snake').registered, [{ kind: 'subscriber', name: kept }])
    assert.deepEqual(stopped, version === 'broken' ? [] : ['first'])
    assert.deepEqual(unloaded, version === 'broken' ? ['broken'] : ['broken', 'first'])
  }
  assert.deepEqual(loading.registrationLog, [
    'subscriber first of snake',
    'daemons of snake stopped',
    '-subscriber first of snake',
    'subscriber third of snake',
    'daemons of snake stopped',
  ])
})

test('a plugin in Python is passed to the Python loader with the same context', async (t) => {
  const loading = createTestLoader(t, {
    files: { 'snake/plugin.yaml': 'name: snake\n', 'snake/__init__.py': '' },
    loadPython: async ({ entryFile }, ctx) => {
      assert.match(entryFile, /snake\/__init__\.py$/)
      ctx.registerHook('post_tool_call', () => undefined)
    },
  })
  await loading.loader.sync()
  assert.deepEqual(loading.report('snake').registered, [{ kind: 'hook', name: 'post_tool_call' }])
  assert.equal(loading.report('snake').language, 'python')
})

test('calls of callbacks can be traced with their duration and error, without a change of behaviour', async (t) => {
  const firings: CallbackTrace[] = []
  let now = 0
  const loading = createTestLoader(t, {
    files: pluginFiles(
      'busy',
      `ctx.registerHook('pre_llm_call', ({ text }) => text)
       ctx.registerCommand({ name: 'sum', description: '', total: 2, async run(args) { return String(Number(args) + this.total) } })
       ctx.registerMiddleware('tool_request', () => { throw new Error('broken') })`,
    ),
    observe: createCallbackObserver(
      (firing) => firings.push(firing),
      () => now++,
    ),
  })
  await loading.loader.sync()
  const call = (name: string, ...args: unknown[]): unknown =>
    Reflect.apply(loading.callbacks.get(name) ?? assert.fail(name), undefined, args)
  assert.equal(call('hook pre_llm_call', { text: 'x' }), 'x')
  assert.equal(await call('command sum', '40', {}), '42')
  assert.throws(() => call('middleware tool_request', {}), { message: 'broken' })
  assert.deepEqual(firings, [
    { kind: 'hook', name: 'pre_llm_call', ms: 1, error: null },
    { kind: 'command', name: 'sum', ms: 1, error: null },
    { kind: 'middleware', name: 'tool_request', ms: 1, error: 'broken' },
  ])
})
