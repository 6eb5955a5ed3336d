/**
 * What a person accepted is the program that lay there, and a program that must allow a command is not got round.
 */
import assert from 'node:assert/strict'
import { chmodSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { writeConsents } from '../../src/hooks/consent.ts'
import { programFiles, programHashOf } from '../../src/hooks/program-files.ts'
import { command, createTestHooks, type HooksUnderTest } from './support.ts'

const allow = ''
const handled = 'console.log(JSON.stringify({ decision: "handled" }))'
/** A path may contain spaces. */
const quoted = (file: string) => `'${file}'`
const isDenied = (answers: readonly unknown[]) => JSON.stringify(answers).includes('"decision":"deny"')

function write(file: string, body: string): void {
  writeFileSync(file, `#!${process.execPath}\n${body}\n`)
  chmodSync(file, 0o755)
}

/** A program for `command:*` that was accepted with its present content. */
function createAcceptedProgram(t: TestContext, body: string, more: Readonly<Record<string, unknown>> = {}) {
  const hooks = createTestHooks(t, { acceptsAll: false })
  const file = join(hooks.home, 'gate.js')
  write(file, body)
  hooks.settings.hooks = { ...hooks.settings.hooks, 'command:*': [{ command: quoted(file), timeout: 10, ...more }] }
  accept(hooks, file)
  hooks.registry.discoverAndLoad()
  return { hooks, file }
}

function accept(hooks: HooksUnderTest, file: string): void {
  const program = programHashOf(programFiles(quoted(file), hooks.home))
  writeConsents(hooks.home, [{ event: 'command:*', command: quoted(file), program }])
}

const collectDecisions = (hooks: HooksUnderTest, name = 'new', withinMs = 20_000) =>
  hooks.registry.emitCollect(`command:${name}`, command(name), withinMs)

test('a changed program does not run until it is accepted again', async (t) => {
  const { hooks, file } = createAcceptedProgram(t, handled)
  assert.deepEqual(await collectDecisions(hooks), [{ decision: 'handled' }])
  utimesSync(file, 1, 1)
  assert.deepEqual(await collectDecisions(hooks), [{ decision: 'handled' }], 'only the time of the file has changed')
  write(file, `require('node:fs').writeFileSync('evil', ''); ${handled}`)
  assert.deepEqual(await collectDecisions(hooks), [])
  const { state, reason } = hooks.status('command:*/gate.js')
  assert.equal(state, 'not-accepted')
  assert.match(reason, /hermes hooks accept command:\*\/gate\.js/)
  accept(hooks, file)
  hooks.registry.applyConfig()
  assert.deepEqual(await collectDecisions(hooks), [{ decision: 'handled' }])
  assert.equal(hooks.status('command:*/gate.js').state, 'ready')
})

test('an acceptance without a hash is valid for any content of the program', async (t) => {
  const { hooks, file } = createAcceptedProgram(t, handled)
  writeConsents(hooks.home, [{ event: 'command:*', command: quoted(file) }])
  hooks.registry.applyConfig()
  write(file, `${handled} // changed`)
  assert.deepEqual(await collectDecisions(hooks), [{ decision: 'handled' }])
})

test('the files of a program are its path and the script of an interpreter', () => {
  const cases: readonly [string, readonly string[]][] = [
    ['/usr/bin/notify --file /etc/hosts', ['/usr/bin/notify']],
    ['./notify.sh', ['/home/notify.sh']],
    ['jq .', []],
    ['python3 -u check.py --log /var/log/x', ['/home/check.py']],
    ['/usr/bin/node gate.js', ['/usr/bin/node', '/home/gate.js']],
    ['sh', []],
  ]
  for (const [text, files] of cases) assert.deepEqual(programFiles(text, '/home'), files, text)
})

test('a hook that fails closed denies when it was changed, is too slow or fails repeatedly', async (t) => {
  const strict = { fail_closed: true, matcher: 'new' }
  const changed = createAcceptedProgram(t, allow, strict)
  assert.deepEqual(await collectDecisions(changed.hooks), [])
  write(changed.file, `${allow} // changed`)
  assert.ok(isDenied(await collectDecisions(changed.hooks)), 'changed')

  const slow = createAcceptedProgram(t, 'setInterval(() => undefined, 1000)', strict)
  assert.ok(isDenied(await collectDecisions(slow.hooks, 'new', 100)), 'slow')

  const failing = createAcceptedProgram(t, 'process.exit(1)', strict)
  for (let count = 0; count < 3; count++) failing.hooks.registry.emit('command:new', command('new'))
  await failing.hooks.registry.waitUntilIdle(20_000)
  assert.equal(failing.hooks.status('command:*/gate.js').state, 'tripped')
  assert.ok(isDenied(await collectDecisions(failing.hooks)), 'a tripped program still denies')
  assert.deepEqual(await collectDecisions(failing.hooks, 'status'), [], 'other commands are not affected')

  failing.hooks.registry.pause('command:*/gate.js')
  assert.deepEqual(await collectDecisions(failing.hooks), [], 'paused by a person')
})
