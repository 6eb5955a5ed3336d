/**
 * What the process does after an uncaught exception or an unhandled rejection.
 */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { realpathSync, writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { installProcessErrorHandlers } from '../../../src/cli/kit/process-errors.ts'
import { messageOf } from '../../../src/lib/errors.ts'
import { createHomeLayout } from '../../../src/lib/home.ts'
import { createRecordingLog, writeFiles } from '../../hosts/support.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { hermes, quietConfig, startDaemon } from '../support.ts'

function withErrorHandlers(t: TestContext, { logged = true } = {}) {
  const folder = realpathSync(tempHome(t))
  writeFiles(folder, { 'tick/plugin.yaml': 'name: tick\n', 'obs/otel/plugin.yaml': 'name: otel\n' })
  const source = new EventEmitter()
  const exits: number[] = []
  const written: string[] = []
  const log = createRecordingLog()
  const handlers = installProcessErrorHandlers({
    source,
    exit: (code) => exits.push(code),
    async print(error) {
      written.push(messageOf(error))
    },
    pluginDirectories: [folder],
  })
  if (logged) handlers.logTo(log)
  const thrown = (error: unknown) => source.emit('uncaughtException', error)
  return { folder, source, exits, written, log, handlers, thrown }
}

/** An error with stack frames as Node prints them, the innermost location first. */
function errorFrom(message: string, ...frames: readonly string[]): Error {
  const stack = [`Error: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join('\n')
  return Object.assign(new Error(message), { stack })
}

const timers = 'listOnTimeout (node:internal/timers:605:17)'
const ours = 'deliver (file:///app/src/outbox/outbox.ts:10:3)'

test('an exception in a timer of a plugin does not end the process, and is logged once with the plugin', (t) => {
  const { folder, thrown, exits, log } = withErrorHandlers(t)
  const error = () => errorFrom('boom', `Timeout.tick [as _onTimeout] (file://${folder}/tick/index.js:3:9)`, timers)
  thrown(error())
  thrown(error())
  assert.deepEqual(exits, [])
  assert.deepEqual(
    log.records.map(({ level, fields }) => [level, fields['event'], fields['plugin']]),
    [
      ['error', 'process.uncaught_exception', 'tick'],
      ['debug', 'process.uncaught_exception', 'tick'],
    ],
  )
})

test('a plugin is recognised when it called the gateway or a package, and in a category', (t) => {
  const { folder, thrown, exits, log } = withErrorHandlers(t)
  thrown(errorFrom('closed', ours, `file://${folder}/obs/otel/index.ts:3:9`, timers))
  thrown(
    errorFrom('late', `a (${folder}/obs/otel/node_modules/x/i.js:1:1)`, 'b (/app/node_modules/y/i.js:1:1)', timers),
  )
  assert.deepEqual(exits, [])
  assert.deepEqual(
    log.records.map(({ fields }) => fields['plugin']),
    ['obs/otel', 'obs/otel'],
  )
})

test('the error of a socket without own stack frames belongs to the plugin that opened it', (t) => {
  const { thrown, exits, log, handlers } = withErrorHandlers(t)
  const refused = errorFrom('ECONNREFUSED', 'TCPConnectWrap.afterConnect [as oncomplete] (node:net:2021:16)')
  handlers.runAsPlugin('tick', () => thrown(refused))
  handlers.runAsPlugin('tick', () => thrown(null))
  assert.deepEqual(exits, [])
  assert.deepEqual(
    log.records.map(({ fields }) => fields['plugin']),
    ['tick', 'tick'],
  )
  thrown(refused)
  assert.deepEqual(exits, [1])
})

test('an exception in the gateway ends the process, also when a plugin was called or had opened the socket', (t) => {
  const { folder, thrown, exits, handlers, log } = withErrorHandlers(t)
  thrown(errorFrom('boom', ours, timers))
  thrown(errorFrom('boom', `callback (file://${folder}/tick/index.js:3:9)`, ours, timers))
  handlers.runAsPlugin('tick', () => thrown(errorFrom('boom', ours, timers)))
  thrown(undefined)
  assert.deepEqual(exits, [1, 1, 1, 1])
  assert.deepEqual(log.records.map(({ fields }) => [fields['event'], fields['plugin']]).slice(0, 1), [
    ['process.uncaught_exception', undefined],
  ])
  const { err } = log.records[0]?.fields ?? {}
  assert.ok(err instanceof Error && err.message === 'boom')
})

test('an unhandled rejection never ends the process', (t) => {
  const { folder, source, exits, log } = withErrorHandlers(t)
  source.emit('unhandledRejection', errorFrom('mine', ours))
  source.emit('unhandledRejection', errorFrom('its', `async register (file://${folder}/tick/index.js:3:9)`))
  assert.deepEqual(exits, [])
  assert.deepEqual(
    log.records.map(({ fields }) => [fields['event'], fields['plugin']]),
    [
      ['process.unhandled_rejection', undefined],
      ['process.unhandled_rejection', 'tick'],
    ],
  )
})

test('errors before the log exists are logged later; an error that ends the process is written at once', async (t) => {
  const { source, thrown, exits, handlers, log, written } = withErrorHandlers(t, { logged: false })
  source.emit('unhandledRejection', errorFrom('early', ours))
  assert.deepEqual(log.records, [])
  handlers.logTo(log)
  assert.deepEqual(
    log.records.map(({ fields }) => fields['event']),
    ['process.unhandled_rejection'],
  )
  const other = withErrorHandlers(t, { logged: false })
  other.thrown(errorFrom('boom', ours))
  await new Promise(setImmediate)
  assert.deepEqual([other.exits, other.written], [[1], ['boom']])
  thrown(errorFrom('late', '/app/x.ts:1:1'))
  assert.deepEqual([exits, written], [[1], []])
})

test('uninstalling removes all handlers', (t) => {
  const { source, handlers } = withErrorHandlers(t)
  handlers.uninstall()
  assert.deepEqual(source.eventNames(), [])
})

test('a daemon survives a plugin that throws in timers, sockets and promises, and logs the plugin', async (t) => {
  const home = createHomeLayout(tempHome(t))
  writeFileSync(home.configFile, `${quietConfig}plugins: {enabled: [wild]}\n`)
  writeFiles(home.root, {
    'plugins/wild/plugin.yaml': 'name: wild\n',
    'plugins/wild/index.js': `import { connect } from 'node:net'
      export function register(ctx) {
        Promise.reject(new Error('floating'))
        setTimeout(() => { throw new Error('timed') }, 1)
        setTimeout(() => ctx.registerHook('pre_tool_call'), 1)
        connect(1, '127.0.0.1')
        ctx.registerHook('on_session_start', () => { setTimeout(() => { throw 'a word' }, 1) })
        ctx.registerBackgroundDaemon('d', () => { connect(2, '127.0.0.1') }, () => undefined)
      }`,
  })
  const daemon = await startDaemon(t, home.root)
  const logged = (event: string, error: string) =>
    daemon.waitForOutput(`"event":"process.${event}","plugin":"wild","err":${error}`)
  await logged('unhandled_rejection', '{"message":"floating"')
  await logged('uncaught_exception', '{"message":"timed"')
  await logged('uncaught_exception', '{"name":"HermesError","code":"plugins/invalid-registration"')
  await logged('uncaught_exception', '{"code":"ECONNREFUSED","message":"connect ECONNREFUSED 127.0.0.1:1"')
  await logged('uncaught_exception', '{"code":"ECONNREFUSED","message":"connect ECONNREFUSED 127.0.0.1:2"')
  const asked = await hermes(t, ['chat', '-q', 'Reply exactly ok'], { home: home.root })
  assert.equal(asked.stdout, 'ok\n')
  await logged('uncaught_exception', '"a word"')
})
