/**
 * Hooks that come, change and go while the gateway runs take effect without a restart and without losing an event.
 */
import assert from 'node:assert/strict'
import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as breath } from 'node:timers/promises'
import { writeFiles } from '../hosts/support.ts'
import {
  agentStart,
  command,
  createTestHooks,
  type HooksSetup,
  type HooksUnderTest,
  hookYaml,
  pythonSendingHandler,
  sendingHandler,
  withoutPython,
} from './support.ts'

const start = hookYaml(['agent:start'])

/** Discovered and watched. */
function createWatchedHooks(t: TestContext, setup: HooksSetup): HooksUnderTest {
  const hooks = createTestHooks(t, setup)
  hooks.registry.discoverAndLoad()
  hooks.registry.watch()
  return hooks
}

function emit({ registry }: HooksUnderTest, message: string): void {
  registry.emit('agent:start', agentStart(message))
}

test('an added hook receives the next event; a removed one receives none', async (t) => {
  const hooks = createWatchedHooks(t, {})
  hooks.write({ 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() })
  await hooks.log.waitForEvent('hook.loaded', { hook: 'a' })
  emit(hooks, 'one')
  await hooks.waitForSent(1)
  hooks.remove('a')
  await hooks.log.waitForEvent('hook.removed', { hook: 'a' })
  emit(hooks, 'two')
  await hooks.registry.waitUntilIdle(5_000)
  assert.deepEqual(
    hooks.sent.map(({ text }) => text),
    ['agent:start one'],
  )
})

test('an edited handler in TypeScript is reloaded, also after a change of a file it imports', async (t) => {
  const hooks = createWatchedHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.ts': `import { word } from './word.ts'
        export const handle = async (_event: string, _context: object, { gateway }: any) => gateway.send('there', word)`,
      'a/word.ts': `export const word: string = 'first'`,
    },
  })
  emit(hooks, 'x')
  await hooks.waitForSent(1)
  hooks.write({ 'a/word.ts': `export const word: string = 'second'` })
  await hooks.log.waitForEvent('hook.reloaded', { hook: 'a' })
  emit(hooks, 'x')
  assert.deepEqual(
    (await hooks.waitForSent(2)).map(({ text }) => text),
    ['first', 'second'],
  )
})

test('an edited handler in Python is reloaded', { skip: withoutPython }, async (t) => {
  const hooks = createWatchedHooks(t, {
    files: { 'a/HOOK.yaml': start, 'a/handler.py': pythonSendingHandler('first') },
  })
  emit(hooks, 'x')
  await hooks.waitForSent(1)
  hooks.write({ 'a/handler.py': pythonSendingHandler('second') })
  await hooks.log.waitForEvent('hook.reloaded')
  emit(hooks, 'x')
  assert.deepEqual(
    (await hooks.waitForSent(2)).map(({ text }) => text),
    ['agent:start x first', 'agent:start x second'],
  )
})

test('a changed list of events takes effect immediately', async (t) => {
  const hooks = createWatchedHooks(t, { files: { 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() } })
  hooks.write({ 'a/HOOK.yaml': hookYaml(['command:new']) })
  await hooks.log.waitForEvent('hook.reloaded', { events: ['command:new'] })
  emit(hooks, 'no subscriber')
  hooks.registry.emit('command:new', command('new'))
  assert.equal((await hooks.waitForSent(1))[0]?.text, 'command:new new')
})

test('a hook in a renamed folder keeps its name', async (t) => {
  const hooks = createWatchedHooks(t, {
    files: { 'a/HOOK.yaml': `name: same\n${start}`, 'a/handler.js': sendingHandler() },
  })
  emit(hooks, 'one')
  await hooks.waitForSent(1)
  renameSync(join(hooks.folder, 'a'), join(hooks.folder, 'b'))
  await hooks.log.waitForEvent('hook.reloaded', { hook: 'same' })
  emit(hooks, 'two')
  await hooks.waitForSent(2)
  assert.deepEqual(
    hooks.registry.list().map(({ name, folder }) => [name, folder]),
    [['same', join(hooks.folder, 'b')]],
  )
})

test('if a new version cannot be loaded, the previous one stays active and the reason is shown', async (t) => {
  const hooks = createWatchedHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.ts': sendingHandler('first')
        .replace('async (event, context', 'async (event: string, context: any')
        .replace('{ gateway })', '{ gateway }: any)'),
    },
  })
  emit(hooks, 'x')
  await hooks.waitForSent(1)
  hooks.write({ 'a/handler.ts': 'export const handle = (' })
  await hooks.log.waitForEvent('hook.previous_version_kept', { hook: 'a' })
  emit(hooks, 'x')
  await hooks.waitForSent(2)
  assert.equal(hooks.status('a').state, 'ready')
  assert.match(hooks.status('a').problem, /handler\.ts/)
  hooks.write({
    'a/handler.ts':
      'export const handle = async (_: string, __: object, { gateway }: any) => gateway.send("there", "third")',
  })
  await hooks.log.waitForEvent('hook.reloaded')
  emit(hooks, 'x')
  assert.equal((await hooks.waitForSent(3))[2]?.text, 'third')
  assert.equal(hooks.status('a').problem, '')
})

test('if a manifest becomes invalid, the hook stays active and the reason is shown', async (t) => {
  const hooks = createWatchedHooks(t, { files: { 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() } })
  hooks.write({ 'a/HOOK.yaml': 'events: [' })
  await hooks.log.waitForEvent('hook.previous_version_kept', { hook: 'a' })
  emit(hooks, 'x')
  await hooks.waitForSent(1)
  assert.match(hooks.status('a').problem, /HOOK\.yaml:1/)
  assert.equal(hooks.registry.list().length, 1)
})

test('a hook keeps its version while every user can write its directory, and the reason disappears with a repair', async (t) => {
  const hooks = createWatchedHooks(t, { files: { 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() } })
  const folder = join(hooks.folder, 'a')
  emit(hooks, 'one')
  await hooks.waitForSent(1)
  chmodSync(folder, 0o777)
  await hooks.log.waitForEvent('hook.previous_version_kept', { hook: 'a' })
  assert.ok(hooks.status('a').problem.startsWith(`${folder}: `))
  chmodSync(folder, 0o755)
  await hooks.log.waitForEvent('hook.reloaded', { hook: 'a' })
  assert.equal(hooks.status('a').problem, '')
  emit(hooks, 'two')
  await hooks.waitForSent(2)
})

test('a refused hook is loaded after the permissions of a file that it imports were repaired', async (t) => {
  const hooks = createWatchedHooks(t, {})
  const [lib, yaml] = ['a/lib/word.js', 'a/HOOK.yaml']
  hooks.write({ 'a/handler.js': sendingHandler(), [lib]: '' })
  chmodSync(join(hooks.folder, lib), 0o666)
  hooks.write({ [yaml]: start })
  await hooks.log.waitForEvent('hook.discovery_warning')
  chmodSync(join(hooks.folder, lib), 0o600)
  await hooks.log.waitForEvent('hook.loaded', { hook: 'a' })
})

test('a hook keeps running while another hook of its process becomes invalid', async (t) => {
  const hooks = createWatchedHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.js': sendingHandler('a'),
      'b/HOOK.yaml': start,
      'b/handler.js': sendingHandler('b'),
    },
  })
  emit(hooks, 'one')
  await hooks.waitForSent(2)
  hooks.write({ 'a/handler.js': 'this is no code' })
  await hooks.log.waitForEvent('hook.previous_version_kept', { hook: 'a' })
  hooks.write({ 'b/handler.js': sendingHandler('b2') })
  await hooks.log.waitForEvent('hook.reloaded', { hook: 'b' })
  emit(hooks, 'two')
  await hooks.waitForSent(4)
  assert.deepEqual(hooks.sent.map(({ text }) => text).sort(), [
    'agent:start one a',
    'agent:start one b',
    'agent:start two a',
    'agent:start two b2',
  ])
})

test('a tripped hook is resumed when its files change', async (t) => {
  const hooks = createWatchedHooks(t, {
    files: { 'a/HOOK.yaml': start, 'a/handler.js': 'export const handle = () => { throw new Error("broken") }' },
  })
  for (let count = 0; count < 3; count++) emit(hooks, 'x')
  await hooks.log.waitForEvent('hook.tripped')
  hooks.write({ 'a/handler.js': sendingHandler() })
  await hooks.log.waitForEvent('hook.reloaded')
  emit(hooks, 'fixed')
  await hooks.waitForSent(1)
  assert.equal(hooks.status('a').state, 'ready')
})

test('a new hook that cannot be loaded is reported at once and works after a fix', async (t) => {
  const hooks = createWatchedHooks(t, {})
  hooks.write({ 'a/HOOK.yaml': start, 'a/handler.js': `import './missing.js'\n${sendingHandler()}` })
  await hooks.log.waitForEvent('hook.load_failed', { hook: 'a' })
  assert.equal(hooks.status('a').state, 'not-loaded')
  assert.match(hooks.status('a').reason, /missing\.js/)
  hooks.write({ 'a/handler.js': sendingHandler() })
  await hooks.log.waitForEvent('hook.reloaded')
  emit(hooks, 'x')
  await hooks.waitForSent(1)
  const { state, reason, problem, lastError } = hooks.status('a')
  assert.deepEqual([state, reason, problem, lastError], ['ready', '', '', null])
})

test('no event is lost, duplicated or reordered while a handler is edited repeatedly', async (t) => {
  const hooks = createWatchedHooks(t, { files: { 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() } })
  let next = 0
  for (let edit = 0; edit < 6; edit++) {
    for (let count = 0; count < 50; count++) emit(hooks, String(next++))
    hooks.write({ 'a/handler.js': `${sendingHandler()}// ${edit}\n` })
    for (let count = 0; count < 50; count++) emit(hooks, String(next++))
    await hooks.waitForSent(next - 20)
    emit(hooks, String(next++))
  }
  await hooks.waitForSent(next)
  await hooks.registry.waitUntilIdle(10_000)
  assert.deepEqual(
    hooks.sent.map(({ text }) => text),
    Array.from({ length: next }, (_, index) => `agent:start ${index}`),
  )
})

test('a hook that writes a log into its own folder is not reloaded', async (t) => {
  const hooks = createWatchedHooks(t, {
    files: {
      'a/HOOK.yaml': start,
      'a/handler.js': `import { appendFileSync } from 'node:fs'
        export const handle = async (event, context, { gateway }) => {
          appendFileSync(new URL('./activity.log', import.meta.url), event + '\\n')
          await gateway.send('there', 'logged')
        }`,
      'b/HOOK.yaml': start,
      'b/handler.js': sendingHandler(),
    },
  })
  for (let count = 1; count <= 30; count++) {
    emit(hooks, 'x')
    await hooks.waitForSent(count * 2)
  }
  appendFileSync(join(hooks.folder, 'a', 'activity.log'), 'more\n')
  // A change that is seen proves that the earlier ones would have been.
  hooks.write({ 'c/HOOK.yaml': start, 'c/handler.js': sendingHandler() })
  await hooks.log.waitForEvent('hook.loaded', { hook: 'c' })
  assert.equal(hooks.log.records.filter(({ fields }) => fields['event'] === 'hook.reloaded').length, 0)
})

test('the hooks directory may be created, removed and created again', async (t) => {
  const hooks = createTestHooks(t, {})
  rmSync(hooks.folder, { recursive: true })
  hooks.registry.discoverAndLoad()
  hooks.registry.watch()
  hooks.write({ 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() })
  await hooks.log.waitForEvent('hook.loaded', { hook: 'a' })
  rmSync(hooks.folder, { recursive: true })
  await hooks.log.waitForEvent('hook.removed', { hook: 'a' })
  const elsewhere = join(hooks.home, 'elsewhere')
  mkdirSync(elsewhere)
  writeFiles(elsewhere, { 'b/HOOK.yaml': start, 'b/handler.js': sendingHandler() })
  renameSync(elsewhere, hooks.folder)
  await hooks.log.waitForEvent('hook.loaded', { hook: 'b' })
  writeFileSync(join(hooks.folder, 'b', 'HOOK.yaml'), hookYaml(['agent:end']))
  await hooks.log.waitForEvent('hook.reloaded', { events: ['agent:end'] })
})

test('changed environment variables reach handlers without a restart', async (t) => {
  const hooks = createTestHooks(t, {
    environment: { WORD: 'first' },
    files: {
      'a/HOOK.yaml': start,
      'a/handler.js': `export const handle = async (e, c, { gateway }) => gateway.send('there', process.env.WORD)`,
    },
  })
  hooks.registry.discoverAndLoad()
  emit(hooks, 'x')
  await hooks.waitForSent(1)
  hooks.settings.environment['WORD'] = 'second'
  hooks.registry.applyConfig()
  emit(hooks, 'x')
  assert.deepEqual(
    (await hooks.waitForSent(2)).map(({ text }) => text),
    ['first', 'second'],
  )
})

test('a hook without a name in a renamed folder receives each event once', async (t) => {
  const hooks = createWatchedHooks(t, { files: { 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() } })
  emit(hooks, 'one')
  await hooks.waitForSent(1)
  renameSync(join(hooks.folder, 'a'), join(hooks.folder, 'b'))
  await hooks.log.waitForEvent('hook.loaded', { hook: 'b' })
  emit(hooks, 'two')
  await hooks.waitForSent(2)
  await hooks.registry.waitUntilIdle(5_000)
  assert.deepEqual(
    hooks.sent.map(({ hook, text }) => `${hook} ${text}`),
    ['a agent:start one', 'b agent:start two'],
  )
})

test('a hook that is absent for a moment misses no event', async (t) => {
  const hooks = createWatchedHooks(t, { files: { 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler() } })
  hooks.remove('a')
  emit(hooks, 'meanwhile')
  hooks.write({ 'a/HOOK.yaml': start, 'a/handler.js': sendingHandler('new') })
  await hooks.log.waitForEvent('hook.reloaded', { hook: 'a' })
  emit(hooks, 'after')
  assert.deepEqual(
    (await hooks.waitForSent(2)).map(({ text }) => text.replace(/^agent:start /, '').replace(' new', '')),
    ['meanwhile', 'after'],
  )
})

test('a stop during a reload leaves no process behind', async (t) => {
  const own = (name: string) => hookYaml(['agent:start'], `env: [${name}]\n`)
  const { registry, hosts, waitForSent, write } = createTestHooks(t, {
    files: {
      'a/HOOK.yaml': own('A'),
      'a/handler.js': sendingHandler('a'),
      'b/HOOK.yaml': own('B'),
      'b/handler.js': sendingHandler('b'),
    },
  })
  registry.discoverAndLoad()
  registry.watch()
  registry.emit('agent:start', agentStart('one'))
  await waitForSent(2)
  const before = hosts.length
  // The new version of the first one is never done with loading.
  write({ 'a/handler.js': 'await new Promise(() => undefined)', 'b/handler.js': sendingHandler('again') })
  while (hosts.length === before) await breath()
  await registry.stop(0)
  assert.deepEqual([hosts.length, registry.processes()], [before + 1, []])
})
