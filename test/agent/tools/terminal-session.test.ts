/**
 * What a command of the terminal leaves to the next one: its directory and its exported variables.
 */
import assert from 'node:assert/strict'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createSessionResourcePool } from '../../../src/agent/environments/session-resources.ts'
import type { ToolContext } from '../../../src/agent/tools/tool.ts'
import { brand } from '../../../src/lib/ids.ts'
import type { SessionKey } from '../../../src/message/ids.ts'
import { readSessionSettings } from '../../../src/sessions/session-state.ts'
import type { TransactionPart } from '../../../src/store/query.ts'
import { ownerAuthority } from '../../kit/authority.ts'
import { openStore } from '../../kit/open-store.ts'
import { noFiles } from '../environments/no-files.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

const output = async (bench: Workbench, command: string, more: Partial<ToolContext> = {}) =>
  String((await bench.run('terminal', { command }, more))['output'])

test('the next command begins where the last one ended, and file tools look there', async () => {
  await using bench = await createWorkbench()
  await mkdir(join(bench.cwd, 'project/src'), { recursive: true })
  const moved = await bench.run('terminal', { command: 'cd project && echo here' })
  assert.deepEqual(moved, { output: 'here\n', exit_code: 0, cwd: join(bench.cwd, 'project') })
  assert.equal(await output(bench, 'pwd'), `${join(bench.cwd, 'project')}\n`)
  await bench.run('write_file', { path: 'notes.txt', content: 'found' })
  assert.equal(await readFile(join(bench.cwd, 'project/notes.txt'), 'utf8'), 'found')
  assert.match(String((await bench.run('read_file', { path: 'notes.txt' }))['content']), /found/)
})

test('a directory for one command stays with this command', async () => {
  await using bench = await createWorkbench()
  await mkdir(join(bench.cwd, 'a/b'), { recursive: true })
  const once = await bench.run('terminal', { command: 'cd b; pwd', workdir: 'a' })
  assert.deepEqual(once, { output: `${join(bench.cwd, 'a/b')}\n`, exit_code: 0 })
  assert.equal(await output(bench, 'pwd'), `${bench.cwd}\n`)
})

test('exported variables are there in the next command, in the background, too; others are not', async () => {
  await using bench = await createWorkbench()
  const value = `it's "two"\n\tlines $HOME \\ \`x\` \u00e9`
  await writeFile(
    join(bench.cwd, 'env.sh'),
    `export VALUE='${value.replaceAll("'", "'\\''")}'\nPLAIN=1\nexport PATH="/extra:$PATH"\n`,
  )
  await output(bench, '. ./env.sh')
  assert.equal(
    await output(bench, 'printf "%s|%s" "$VALUE" "$PLAIN"; case $PATH in /extra:*) echo "|path";; esac'),
    `${value}||path\n`,
  )
  const started = await bench.run('terminal', { command: 'printf %s "$VALUE"', background: true })
  assert.equal((await bench.run('process', { action: 'wait', id: started['id'] }))['output'], value)
  await output(bench, 'unset VALUE')
  assert.equal(await output(bench, 'printenv VALUE || echo none'), 'none\n')
})

for (const [name, command] of [
  ['exit', 'cd sub; export X=1; exit 3'],
  ['set -e', 'set -eux; cd sub; export X=1; false'],
  ['a subshell that fails', 'cd sub; export X=1; (exit 3)'],
  ['output of a process that it leaves behind', 'sleep 5 & cd sub; export X=1'],
] as const)
  test(`a command that ends with ${name} leaves its directory and its variables`, async () => {
    await using bench = await createWorkbench()
    await mkdir(join(bench.cwd, 'sub'))
    const result = await bench.run('terminal', { command })
    assert.equal(result['cwd'], join(bench.cwd, 'sub'))
    assert.doesNotMatch(String(result['output']), /hermes_|declare/)
    assert.equal(await output(bench, 'echo "$X"; basename "$PWD"'), '1\nsub\n')
  })

for (const [name, command] of [
  ['exec', 'cd /; export X=1; exec true'],
  ['being killed', 'cd /; export X=1; kill -9 $$'],
  ['a trap of its own', 'trap "echo bye" EXIT; cd /; export X=1'],
] as const)
  test(`a command that ends with ${name} changes nothing for the next one`, async () => {
    await using bench = await createWorkbench()
    assert.equal((await bench.run('terminal', { command }))['cwd'], undefined)
    assert.equal(await output(bench, 'echo "$X"; pwd'), `\n${bench.cwd}\n`)
  })

test('a command that redirects its output finds no other text in the file', async () => {
  await using bench = await createWorkbench()
  assert.equal(await output(bench, 'exec > log.txt; echo logged; cd /'), '')
  assert.equal(await readFile(join(bench.cwd, 'log.txt'), 'utf8'), 'logged\n')
})

test('what a command prints about its own environment changes nothing', async () => {
  await using bench = await createWorkbench()
  const result = await bench.run('terminal', {
    command: 'env; set; trap -p; echo "$BASH_EXECUTION_STRING"',
  })
  assert.equal(result['exit_code'], 0)
  assert.equal(result['cwd'], undefined)
  assert.match(String(result['output']), /PATH=/)
})

test('a long output keeps its end, and the end of its command', async () => {
  await using bench = await createWorkbench()
  const limits = { maxResultChars: 1_000_000 }
  const result = await bench.run('terminal', { command: 'cd /; export X=1; seq 400000; echo last' }, { limits })
  const text = String(result['output'])
  assert.equal(result['cwd'], '/')
  assert.match(text, /^1\n2\n/)
  assert.match(text, /last\n$/)
  assert.ok(Buffer.byteLength(text) <= bench.services.terminal.maxOutputBytes + 100)
  const [, left] = /\[\u2026 (\d+) bytes left out \u2026\]/.exec(text) ?? []
  const whole = Array.from({ length: 400_000 }, (_, index) => `${index + 1}\n`).join('').length + 'last\n'.length
  const note = /\n\[\u2026 \d+ bytes left out \u2026\]\n/.exec(text)?.[0] ?? ''
  assert.equal(Number(left), whole - (Buffer.byteLength(text) - Buffer.byteLength(note)))
})

test('the command policy judges a command in the directory in which it runs', async () => {
  await using bench = await createWorkbench()
  await symlink('/etc', join(bench.cwd, 'link'))
  await output(bench, 'cd link')
  const { code, rule } = await bench.run('terminal', { command: 'rm -rf *' })
  assert.equal(code, 'command_refused')
  assert.equal(rule, (await bench.run('terminal', { command: 'rm -rf *', workdir: '/etc' }))['rule'])
})

test('variables that would change what the policy presumes, or which program starts a command, are not kept', async () => {
  await using bench = await createWorkbench()
  await output(bench, 'export HOME=/etc BASH_ENV=/tmp/evil HERMES_HOME=/x LD_PRELOAD=')
  assert.equal(await output(bench, 'echo "$HOME|$BASH_ENV|$HERMES_HOME"'), `${bench.userHome}||\n`)
})

test('the people of a conversation do not choose each other\u2019s variables', async () => {
  await using bench = await createWorkbench()
  const guest = { turn: { ...bench.context.turn, authority: { ...ownerAuthority, role: 'guest' as const } } }
  await output(bench, 'export PATH=/evil:$PATH SECRET=no', guest)
  assert.equal(await output(bench, 'echo "$SECRET"'), '\n')
  assert.equal(await output(bench, 'echo "$SECRET"', guest), 'no\n')
})

test('a command outside the sandbox gets no variables from inside', async () => {
  await using bench = await createWorkbench()
  await output(bench, 'export PATH=/evil:$PATH X=1')
  const asked = { command: 'echo "$X"; export Y=2', outside_sandbox: true }
  assert.equal((await bench.run('terminal', asked, { isApproved: true }))['output'], '\n')
  assert.equal(await output(bench, 'echo "$Y"'), '\n')
})

test('too many variables are not kept, and the agent learns it', async () => {
  await using bench = await createWorkbench()
  await output(bench, 'export SMALL=1')
  const result = await bench.run('terminal', { command: 'export BIG=$(head -c 20000 /dev/zero | tr "\\0" x)' })
  assert.equal(typeof result['note'], 'string')
  assert.equal(await output(bench, 'echo "$BIG|$SMALL"'), '|1\n')
})

test('a command does not run elsewhere when its directory is gone', async () => {
  await using bench = await createWorkbench()
  const gone = join(bench.cwd, 'gone')
  await mkdir(gone)
  await writeFile(join(bench.cwd, 'kept.txt'), '')
  await output(bench, 'cd gone')
  await rm(gone, { recursive: true })
  assert.equal((await bench.run('terminal', { command: 'touch made.txt' }))['code'], 'directory_gone')
  assert.equal(await output(bench, 'ls'), 'kept.txt\n')
})

test('the directory is stored with the result of the command, except for that of a sub-agent', async (t) => {
  await using bench = await createWorkbench()
  const { store } = openStore(t)
  const sessionKey = brand<SessionKey>('agent:main:web:dm:1')
  const writes: TransactionPart[] = []
  const loop = { writeWithResult: (part: TransactionPart) => void writes.push(part), callTool: async () => '' }
  const storing: Partial<ToolContext> = { turn: { ...bench.context.turn, sessionKey }, loop }
  await output(bench, 'export SECRET=1; cd /', storing)
  await output(bench, 'true', storing)
  await output(bench, 'cd /tmp', { ...storing, sessionId: 'sub-agent' })
  const [part] = writes
  assert.ok(part !== undefined && writes.length === 1)
  await store.run(() => part.write(0))
  assert.deepEqual(await store.run(() => readSessionSettings(sessionKey)), { directory: '/' })
})

test('a session begins where it is told to, and each session has its own directory', () => {
  const pool = createSessionResourcePool({
    createEnvironment: () => ({
      kind: 'test',
      cwd: '/base',
      files: noFiles,
      execute: async () => ({ output: '', exitCode: 0, timedOut: false, aborted: false }),
      cleanup: async () => undefined,
    }),
    createProcessTable: () => ({
      add: () => assert.fail(),
      get: () => undefined,
      list: () => [],
      killAll: () => undefined,
    }),
    readTodos: () => null,
  })
  const first = pool.getOrCreate('a', () => [], '/stored')
  assert.equal(first.environment.cwd, '/stored')
  assert.equal(pool.getOrCreate('b', () => []).environment.cwd, '/base')
  first.shell.directory = '/moved'
  assert.equal(pool.getOrCreate('a', () => [], '/stored').environment.cwd, '/moved')
  assert.equal(pool.directoryOf('a'), '/moved')
})
