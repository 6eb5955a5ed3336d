/**
 * `hermes plugins` reads the directories and config.yaml without a daemon, and uses the API of a running daemon.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { python, withoutPython } from '../hosts/support.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { pluginFiles, writeFiles } from '../plugins/loader-support.ts'
import { assertFailed, hermes, homeWith, quietConfig, runInProcess } from './support.ts'

const hook = `ctx.registerHook('post_llm_call', () => undefined)`

test('a new plugin from the template is listed, tested and enabled, and works in a chat, all unchanged', async (t) => {
  const { root, plugins } = homeWith(t, '# mine\nlog: {level: info}\n')
  const made = await runInProcess(root, ['plugins', 'new', 'my-plugin'])
  assert.deepEqual([made.code, made.stderr], [0, ''])
  assert.ok(made.stdout.includes('hermes plugins test my-plugin'), 'the next command')
  assert.equal((await runInProcess(root, ['plugins', 'new', 'my-plugin'])).code, 2)
  assert.equal((await runInProcess(root, ['plugins', 'new', '../evil'])).code, 2)
  assert.ok(existsSync(join(plugins, 'my-plugin', 'index.ts')))
  assert.match((await runInProcess(root, ['plugins', 'list'])).stdout, /^my-plugin {2}off {2}0\.1\.0 {2}home {2}\S/m)

  const tried = await runInProcess(root, ['plugins', 'test', 'my-plugin'])
  assert.deepEqual([tried.code, tried.stderr], [0, ''])
  assert.match(tried.stdout, /^hook {2}pre_llm_call {2}1 {2}[\d.]+ ms {2}-$/m)
  assert.match(tried.stdout, /^hook {2}post_tool_call {2}1 {2}/m)
  const { plugin, failure, answer } = JSON.parse(
    (await runInProcess(root, ['plugins', 'test', 'my-plugin', '--json'])).stdout,
  )
  assert.deepEqual([plugin.id, plugin.state, failure, answer !== ''], ['my-plugin', 'loaded', '', true])
  assert.ok(!existsSync(join(root, 'state.db')), 'the home itself was touched')

  const enabled = await runInProcess(root, ['plugins', 'enable', 'my-plugin'])
  assert.deepEqual([enabled.code, enabled.stderr], [0, ''])
  assert.equal(
    readFileSync(join(root, 'config.yaml'), 'utf8'),
    '# mine\nlog: {level: info}\nplugins:\n  enabled:\n    - my-plugin\n',
  )
  const info = await runInProcess(root, ['plugins', 'info', 'my-plugin'])
  assert.match(info.stdout, /^State {2}enabled$/m)
  assert.match((await runInProcess(root, ['doctor', '--offline'])).stdout, /^✓ Plugins: my-plugin$/m)
})

test('every command takes the name in the manifest of a plugin, and a change leaves no other name behind', async (t) => {
  const { root, plugins } = homeWith(t, 'plugins: {enabled: [], disabled: [metrics, twin]}\n')
  writeFiles(plugins, {
    ...pluginFiles('hermes-metrics', hook, 'name: metrics\n'),
    ...pluginFiles('one', hook, 'name: twin\n'),
    ...pluginFiles('other', hook, 'name: twin\n'),
  })
  const run = async (...words: readonly string[]) => await runInProcess(root, ['plugins', ...words])
  const config = () => readFileSync(join(root, 'config.yaml'), 'utf8')
  assert.equal((await run('enable', 'hermes-metrics')).code, 0)
  assert.match(config(), /enabled: \[\s*hermes-metrics\s*\], disabled: \[\s*twin\s*\]/)
  assert.match((await run('info', 'metrics')).stdout, /^State {2}enabled$/m)
  assert.equal((await run('test', 'metrics')).code, 0)
  assert.equal((await run('disable', 'metrics')).code, 0)
  assert.match(config(), /enabled: \[\], disabled: \[\s*twin, hermes-metrics\s*\]/)
  assertFailed(await run('enable', 'twin'), 'cli/not-found', 'one', 'other')
  const still = await run('enable', 'one')
  assert.equal(still.code, 1, 'a name of both disables it')
  assert.match(still.stderr, /plugins\.disabled/)
})

test('plugins work in a terminal chat without a daemon, with TypeScript, zod and #sdk', async (t) => {
  const { root, plugins } = homeWith(t)
  writeFiles(plugins, {
    'shout/plugin.yaml': 'name: shout\n',
    'shout/index.ts': `import { z } from 'zod'
      import { HermesError, type Register } from '#sdk'
      import { loud } from './loud.ts'
      export const register: Register = (ctx) => {
        if (typeof HermesError !== 'function') throw new Error('no sdk')
        ctx.registerTool({ name: 'measure', description: 'Measures', parameters: z.object({ of: z.string() }), run: ({ of }) => of.length })
        console.log('plugin is loaded')
        ctx.registerHook('transform_llm_output', ({ response_text, platform, route }) => loud(response_text + ' on ' + platform + '/' + route))
      }`,
    'shout/loud.ts': 'export const loud = (text: string): string => text.toUpperCase()\n',
  })
  const ask = ['chat', '--query', 'Reply exactly ok']
  assert.equal((await runInProcess(root, ask)).stdout, 'ok\n')
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'shout'])).code, 0)
  const answered = await hermes(t, ask, { home: root })
  assert.deepEqual([answered.stdout, answered.code], ['OK ON CLI/\n', 0], answered.stderr)
  assert.match(answered.stderr, /^plugin is loaded$/m)
  assert.equal((await runInProcess(root, ['plugins', 'disable', 'shout'])).code, 0)
  assert.equal((await runInProcess(root, ask)).stdout, 'ok\n')
})

test('what a plugin in Python prints goes to stderr of a terminal chat', { skip: withoutPython }, async (t) => {
  const { root, plugins } = homeWith(t)
  writeFiles(plugins, {
    'timing/plugin.yaml': 'name: timing\n',
    'timing/__init__.py':
      'def timed(next_call, **_):\n    response = next_call()\n    print("model was called")\n    return response\ndef register(ctx):\n    ctx.register_middleware("llm_execution", timed)\n',
  })
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'timing'])).code, 0)
  const { stdout, stderr } = await hermes(t, ['chat', '--query', 'Reply exactly ok'], { home: root })
  assert.equal(stdout, 'ok\n')
  assert.match(stderr, /^model was called$/m)
})

test('a plugin with errors is tested with a given message: each error is shown, and the exit code reports it', async (t) => {
  const { root, plugins } = homeWith(t)
  writeFiles(plugins, {
    ...pluginFiles(
      'faulty',
      `ctx.registerHook('pre_llm_call', () => { throw new Error('no luck') }); ctx.registerCommand({ name: 'idle', description: '', run: () => '' })`,
    ),
    ...pluginFiles(
      'broken',
      `throw new Error('broken: ' + ctx.hasPlugin('helper'))`,
      'name: broken\nrequires_plugins: helper\n',
    ),
    ...pluginFiles('helper', ''),
  })
  const faulty = await runInProcess(root, ['plugins', 'test', 'faulty', '--message', 'Reply exactly hm'])
  assert.equal(faulty.code, 1)
  assert.match(faulty.stdout, /^hook {2}pre_llm_call {2}1 {2}[\d.]+ ms {2}no luck$/m)
  assert.match(faulty.stdout, /^command {2}idle {2}0 {2}- {2}-$/m)
  assert.match(faulty.stdout, /^! .*pre_llm_call.*no luck$/m)
  const shown = JSON.parse(
    (await runInProcess(root, ['plugins', 'test', 'faulty', '--message', 'Reply exactly hm', '--json'])).stdout,
  )
  assert.deepEqual([shown.message, shown.answer], ['Reply exactly hm', 'hm'])
  const broken = await runInProcess(root, ['plugins', 'test', 'broken', '--json'])
  assert.equal(broken.code, 1)
  const { plugin: report } = JSON.parse(broken.stdout)
  assert.deepEqual([report.state, /index\.js:1: broken: true$/.test(report.reason)], ['failed', true])
  assert.equal(report.folder, `${plugins}/broken`)
  assert.ok(report.reason.startsWith(`${plugins}/broken/index.js:1`), 'the file of the plugin, not of its copy')
})

test('plugins test shows no value of .env, whatever its name', async (t) => {
  const { root, plugins, envFile } = homeWith(t)
  writeFileSync(envFile, 'COLOUR=blue-elephant-4711\n', { mode: 0o600 })
  const value = JSON.stringify('blue-elephant-4711')
  writeFiles(
    plugins,
    pluginFiles(
      'leaky',
      `ctx.log.warn({ event: 'leaky.said' }, ${value})
       ctx.registerHook('pre_llm_call', () => { throw new Error(${value}) })`,
    ),
  )
  for (const more of [[], ['--json']]) {
    const { stdout, stderr } = await runInProcess(root, [
      ...['plugins', 'test', 'leaky', '--message', 'Reply exactly blue-elephant-4711.', ...more],
    ])
    assert.match(stdout, /\[redacted\]/)
    assert.doesNotMatch(stdout + stderr, /elephant/)
  }
})

for (const [what, code] of Object.entries({
  'an error': 'throw Object.assign(new Error(`refused: ${value}`, { cause: new Error(value) }), { value })',
  'a rejection': 'void Promise.reject(`refused: ${value}`)',
}))
  test(`${what} that a plugin throws after its test is printed without the values of .env`, async (t) => {
    const { root, plugins, envFile } = homeWith(t, `${quietConfig}plugins: {entries: {late: {key: "\${A_KEY}"}}}\n`)
    writeFileSync(envFile, 'COLOUR=blue-elephant-4711\nA_KEY=ab1de\n', { mode: 0o600 })
    writeFiles(
      plugins,
      pluginFiles(
        'late',
        `const value = 'blue-elephant-4711 and ab1de'
         const timer = setInterval(() => {
           if (process.listenerCount('uncaughtException') > 1) return
           clearInterval(timer)
           ${code}
         }, 5)`,
      ),
    )
    const {
      code: exitCode,
      stdout,
      stderr,
    } = await hermes(t, ['plugins', 'test', 'late', '--message', 'Reply exactly hm'], {
      home: root,
    })
    assert.equal(exitCode, 1)
    assert.match(stderr, /refused/)
    assert.doesNotMatch(stdout + stderr, /elephant|ab1de/)
  })

test('enable and disable accept the id or the short name, and keep the rest of the file', async (t) => {
  const { root, plugins, configFile } = homeWith(
    t,
    'plugins: {disabled: [tracer, x], entries: {tracer: {settings: {a: 1}}}}\n',
  )
  writeFiles(plugins, {
    ...pluginFiles('obs/tracer', hook),
    ...pluginFiles('a/same', hook),
    ...pluginFiles('b/same', hook),
  })
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'tracer'])).code, 0)
  assert.equal(
    readFileSync(configFile, 'utf8'),
    'plugins: {disabled: [x], entries: {tracer: {settings: {a: 1}}}, enabled: [obs/tracer]}\n',
  )
  const both = await runInProcess(root, ['plugins', 'enable', 'same'])
  assertFailed(both, 'cli/not-found', 'a/same', 'b/same')
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'b/same'])).code, 0)
  const states = (await runInProcess(root, ['plugins', 'list'])).stdout
    .split('\n')
    .filter((line) => line.includes('  home  '))
    .map((line) => line.split('  ', 2).join(' '))
  assert.deepEqual(states, ['a/same off', 'b/same enabled', 'obs/tracer enabled'])
  const unknown = await runInProcess(root, ['plugins', 'enable', 'tracr'])
  assertFailed(unknown, 'cli/not-found', 'tracr', 'tracer')
})

test('a file that is not valid YAML is unchanged; a link stays a link, and the file keeps its mode', async (t) => {
  const broken = homeWith(t, 'plugins: [\n')
  writeFiles(broken.plugins, pluginFiles('mine', hook))
  const refused = await runInProcess(broken.root, ['plugins', 'enable', 'mine'])
  assertFailed(refused, 'config/unreadable', /config\.yaml:\d+:\d+/)
  assert.equal(readFileSync(broken.configFile, 'utf8'), 'plugins: [\n')

  const linked = homeWith(t)
  const real = join(linked.root, 'real.yaml')
  writeFileSync(real, 'log: {level: info}\n', { mode: 0o640 })
  const { root, configFile, plugins } = linked
  writeFiles(plugins, pluginFiles('mine', hook))
  rmSync(configFile)
  symlinkSync(real, configFile)
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'mine'])).code, 0)
  assert.match(readFileSync(real, 'utf8'), /mine/)
  assert.equal(statSync(real).mode & 0o777, 0o640)
})

test('a home without a config.yaml gets one', async (t) => {
  const { root, plugins, configFile } = homeWith(t)
  rmSync(configFile)
  writeFiles(plugins, pluginFiles('mine', hook))
  assert.equal((await runInProcess(root, ['plugins', 'enable', 'mine'])).code, 0)
  assert.equal(readFileSync(configFile, 'utf8'), 'plugins:\n  enabled:\n    - mine\n')
  assert.equal(statSync(configFile).mode & 0o777, 0o600)
})

test('a running gateway loads and unloads plugins immediately, and reports why one cannot be loaded', async (t) => {
  const gateway = await startTestGateway(t, {
    prepare: ({ plugins }) =>
      writeFiles(plugins, {
        ...pluginFiles('good', hook),
        ...pluginFiles('bad', `throw new Error('not today')`),
        'invalid/plugin.yaml': 'name: []\n',
      }),
  })
  const { root } = gateway.home
  const reportOf = async (id: string) =>
    JSON.parse((await runInProcess(root, ['plugins', 'info', id, '--json'])).stdout)
  const good = await runInProcess(root, ['plugins', 'enable', 'good'])
  assert.equal(good.code, 0, good.stderr)
  assert.equal((await reportOf('good')).state, 'loaded')
  const bad = await runInProcess(root, ['plugins', 'enable', 'bad'])
  assert.deepEqual([bad.code, bad.stderr.includes('not today')], [1, true])
  assert.equal((await reportOf('bad')).state, 'failed')
  const invalid = await runInProcess(root, ['plugins', 'enable', 'invalid'])
  assertFailed(invalid, 'cli/failed', 'invalid/plugin.yaml:1:7')
  const listed = (await runInProcess(root, ['plugins', 'list'])).stdout
  assert.match(listed, /^bad {2}failed .*not today$/m)
  assert.match(listed, /^good {2}loaded /m)
  assert.match(listed, /^invalid {2}invalid .*plugin\.yaml:1:7/m)
  assert.match((await runInProcess(root, ['plugins', 'info', 'good'])).stdout, /^Registered {2}hook post_llm_call$/m)
  assert.match((await runInProcess(root, ['status'])).stdout, /^Plugins {2}bad failed.*not today$/m)
  assert.match((await runInProcess(root, ['doctor', '--offline'])).stdout, /^✗ Plugins: bad .*not today$/m)
  assert.equal((await runInProcess(root, ['plugins', 'disable', 'good'])).code, 0)
  assert.match((await runInProcess(root, ['plugins', 'list'])).stdout, /^good {2}disabled /m)
})

test('for a running plugin the failed hooks are shown with their count and last error', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { plugins: { enabled: ['shaky'] } },
    prepare: ({ plugins }) =>
      writeFiles(
        plugins,
        pluginFiles('shaky', `ctx.registerHook('pre_llm_call', () => { throw new Error('no luck') }); ${hook}`),
      ),
  })
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  const { root } = gateway.home
  const info = (await runInProcess(root, ['plugins', 'info', 'shaky'])).stdout
  assert.match(info, /^Warning {2}pre_llm_call .*no luck$/m)
  assert.doesNotMatch(info, /^Warning {2}post_llm_call/m)
  const { hooks } = JSON.parse((await runInProcess(root, ['plugins', 'info', 'shaky', '--json'])).stdout)
  assert.deepEqual(
    hooks.map(({ failures, calls }: { failures: number; calls: number }) => [failures, calls]),
    [
      [1, 1],
      [0, 1],
    ],
  )
})

test('doctor reports enabled plugins that cannot be loaded or do not exist', async (t) => {
  const { root, plugins } = homeWith(t, 'plugins: {enabled: [needy, gone]}\n')
  writeFiles(plugins, {
    ...pluginFiles('needy', hook, 'name: needy\nrequires_env: [NEEDED_KEY]\n'),
    'other/plugin.yaml': 'name: []\n',
  })
  const { stdout, code } = await runInProcess(root, ['doctor', '--offline'])
  assert.equal(code, 1)
  assert.match(stdout, /^✗ Plugins: needy .*NEEDED_KEY.*\n.*plugins disable needy/m)
  assert.match(stdout, /^✗ Plugins: gone .*plugins\.enabled/m)
  assert.match(stdout, /^! Plugins: .*other\/plugin\.yaml:1:7: name: /m)
})

test('a plugin can be written in Python', async (t) => {
  const { root, plugins } = homeWith(t)
  assert.equal((await runInProcess(root, ['plugins', 'new', 'snake', '--python'])).code, 0)
  assert.match(readFileSync(join(plugins, 'snake/__init__.py'), 'utf8'), /^def register\(ctx\):$/m)
  assert.match((await runInProcess(root, ['plugins', 'info', 'snake'])).stdout, /^Language {2}python$/m)
})

test('an edit that cannot be loaded is shown by status and doctor while the previous version stays active', async (t) => {
  const gateway = await startTestGateway(t, {
    config: { plugins: { enabled: ['guard'] } },
    prepare: ({ plugins, hooks }) => {
      writeFiles(plugins, pluginFiles('guard', hook))
      writeFiles(hooks, {
        'diary/HOOK.yaml': 'events: agent:end\n',
        'diary/handler.js': 'export const handle = () => console.log("diary was called")\n',
      })
    },
  })
  const { root, plugins, hooks } = gateway.home
  await gateway.say('one')
  await gateway.waitForReply('You said: one')
  // Its version is loaded by now.
  await gateway.waitForLog('diary was called')
  assert.partialDeepStrictEqual(JSON.parse((await runInProcess(root, ['status', '--json'])).stdout), {
    plugins: [],
    hooks: [],
  })
  writeFiles(plugins, { 'guard/index.js': 'export function register( {' })
  writeFiles(hooks, { 'diary/handler.js': 'export function handle( {' })
  await gateway.waitForLog('plugin.reload_failed')
  await gateway.waitForLog('hook.previous_version_kept')
  const status = JSON.parse((await runInProcess(root, ['status', '--json'])).stdout)
  const states = [...status.plugins, ...status.hooks].map(({ id, name, state }) => [id ?? name, state])
  assert.deepEqual(states, [
    ['guard', 'old version'],
    ['diary', 'old version'],
  ])
  const shown = (await runInProcess(root, ['status'])).stdout
  assert.match(shown, /^Plugins {2}guard old version/m)
  assert.match(shown, /^Hooks {2}diary old version/m)
  const { findings } = JSON.parse((await runInProcess(root, ['doctor', '--offline', '--json'])).stdout)
  const problems = findings.filter(({ state }: { state: string }) => state === 'problem')
  assert.deepEqual(problems.map(({ subject }: { subject: string }) => subject).sort(), ['Hooks', 'Plugins'])
})

test('packages that a plugin in Python imports and this machine lacks are named before it runs', {
  skip: withoutPython,
}, async (t) => {
  const config = `plugins: {enabled: [asks]}\nterminal: {sandbox: off}\nhooks: {python: ${JSON.stringify(python)}}\n`
  const { root, plugins } = homeWith(t, config)
  mkdirSync(join(plugins, 'asks'), { recursive: true })
  writeFileSync(join(plugins, 'asks', 'plugin.yaml'), 'name: asks\n')
  writeFileSync(
    join(plugins, 'asks', '__init__.py'),
    [
      'import json, os.path, no_such_package_a, helper',
      'from . import helper as own',
      'from hermes_constants import get_hermes_home',
      'try:',
      '    import no_such_optional_package',
      'except ImportError:',
      '    pass',
      'def register(ctx):',
      '    from no_such_package_b.client import Client',
      '',
    ].join('\n'),
  )
  writeFileSync(join(plugins, 'asks', 'helper.py'), 'import yaml_that_is_not_there\nopen("ran", "w")\n')
  const { stdout: listed } = await runInProcess(root, ['plugins', 'list'])
  const missing = 'no_such_package_a, no_such_package_b, yaml_that_is_not_there'
  assert.match(listed, new RegExp(`asks .*${missing}.*pip install`))
  assert.doesNotMatch(listed, /no_such_optional_package/)
  assert.match(
    (await runInProcess(root, ['doctor', '--offline'])).stdout,
    new RegExp(`^! Plugins: asks: .*${missing}`, 'm'),
  )
  assert.ok(!existsSync(join(plugins, 'asks', 'ran')))
})
