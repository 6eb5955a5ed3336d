/**
 * The modes of what the product creates, where the umask forbids nothing.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { runInProcess } from '../cli/support.ts'
import type { JsonObject, ModelReply } from '../kit/servers/model-script.ts'
import { startTestGateway } from '../kit/start-gateway.ts'
import { tempHome } from '../kit/temp-home.ts'

function withoutUmask(t: TestContext): void {
  const umask = process.umask(0)
  t.after(() => process.umask(umask))
}

/** Programs that commands in the sandbox run. Their folders are private. */
const programs = new Set([
  'cache/bin/hermes',
  'cache/sandbox/bin/hermes',
  'cache/sandbox/bin/hermes.mjs',
  'cache/sandbox/bin/forwarder.mjs',
])

/** What other users could use: its path in the folder, with its mode. */
function openEntries(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
    const found = lstatSync(join(folder, name))
    const mode = found.mode & 0o777
    const isExpected = found.isSymbolicLink() || (programs.has(name) ? (mode & 0o022) === 0 : (mode & 0o077) === 0)
    return isExpected ? [] : [`${mode.toString(8)} ${name}`]
  })
}

test('commands create private files and folders in a new home under umask 000', async (t) => {
  withoutUmask(t)
  const root = join(tempHome(t), 'new')
  const created = [
    ['config', 'check'],
    ['hooks', 'new', 'mine'],
    ['hooks', 'new', 'snake', '--python'],
    ['plugins', 'new', 'mine'],
    ['profile', 'create', 'work'],
    ['mcp', 'add', 'files', '--no-test', '--', 'npx', 'server'],
    ['cron', 'create', 'every 1h', 'say hi'],
    ['plugins', 'enable', 'mine'],
  ]
  for (const words of created) await runInProcess(root, words, { environment: { PATH: process.env['PATH'] } })
  assert.equal(statSync(root).mode & 0o777, 0o700)
  assert.deepEqual(openEntries(root), [])
  const names = readdirSync(root)
  for (const name of ['config.yaml', 'hooks', 'plugins', 'profiles', 'cron'])
    assert.ok(names.includes(name), `${name} was not created`)
})

test('a gateway with tools creates private files and folders under umask 000', async (t) => {
  withoutUmask(t)
  const call = (name: string, args: JsonObject): ModelReply => ({ toolCalls: [{ name, arguments: args }] })
  const gateway = await startTestGateway(t, {
    config: {
      terminal: { cwd: undefined, sandbox: 'auto' },
      checkpoints: { enabled: true },
      roles: { guest: { tools: ['*'] } },
      approvals: { mode: 'off' },
    },
    replies: [
      call('terminal', { command: 'seq 100000' }),
      call('write_file', { path: 'note.txt', content: 'a note' }),
      call('memory', { action: 'add', target: 'memory', content: 'likes tea' }),
      { text: 'done' },
    ],
  })
  await gateway.say('work')
  await gateway.waitForReply('done')
  await gateway.stop()
  assert.ok(existsSync(gateway.home.checkpoints), 'the tools have created files')
  // The test itself has installed the platform. Files of the agent have the modes that the umask gives, in private folders.
  const notOurs = /^\d+ (?:(?:platforms|workspace)(?:\/|$)|cache\/sandbox\/tmp\/)/
  const open = openEntries(gateway.home.root).filter((entry) => !notOurs.test(entry))
  assert.deepEqual(open, [])
  assert.equal(statSync(gateway.home.workspace).mode & 0o777, 0o700)
})

test('the compile cache is private under umask 000, with the folder that Node creates in it', (t) => {
  const cache = join(tempHome(t), 'cache')
  const setup = pathToFileURL(join(import.meta.dirname, '../../src/config/runtime-setup.mjs')).href
  const fill = (directory: string | undefined, environment: Readonly<Record<string, string>> = {}) => {
    const code = `process.umask(0)
      const { enablePrivateCache } = await import(${JSON.stringify(setup)})
      enablePrivateCache(${JSON.stringify(directory)})
      await import(${JSON.stringify(`${setup}?again`)})`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: process.env['PATH'], ...environment },
      encoding: 'utf8',
    })
    assert.equal(status, 0, stderr)
  }
  mkdirSync(cache, { mode: 0o700 })
  fill(cache)
  const [version = ''] = readdirSync(cache)
  assert.notEqual(version, '')
  assert.deepEqual(openEntries(cache), [])
  // An earlier version has left this mode.
  chmodSync(join(cache, version), 0o777)
  fill(cache)
  assert.deepEqual(openEntries(cache), [])
  chmodSync(join(cache, version), 0o777)
  fill(undefined, { NODE_COMPILE_CACHE: cache })
  assert.deepEqual(openEntries(cache), [])
})
