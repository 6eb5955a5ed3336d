import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { buildProgram } from '../../src/cli/program.ts'
import { tempHome } from '../kit/temp-home.ts'
import { assertFailed, createTestContext, hermes, runInProcess } from './support.ts'

test('--version, -V and version print only the version', async (t) => {
  const packageFile = new URL('../../package.json', import.meta.url)
  const { version }: { version: string } = JSON.parse(readFileSync(packageFile, 'utf8'))
  const home = tempHome(t)
  const runs = await Promise.all([['--version'], ['-V'], ['version']].map((words) => hermes(t, words, { home })))
  for (const run of runs) assert.deepEqual(run, { code: 0, stdout: `${version}\n`, stderr: '' })
})

test('help lists every command on one line, two examples and the address of the documentation', async (t) => {
  const home = tempHome(t)
  const { code, stdout } = await runInProcess(home, ['--help'])
  assert.equal(code, 0)
  const commands = [
    'gateway run|status|stop|restart',
    'send <target> <text>',
    'chat',
    'web url',
    'status',
    'doctor',
    'sessions list|show|search',
    'config check|path|show|schema',
    'inbox list|retry|drop|audit',
    'outbox list|retry|drop',
    'version',
  ]
  for (const command of commands) assert.match(stdout, new RegExp(`^  ${command.replaceAll('|', '\\|')}  +\\S.*$`, 'm'))
  assert.match(stdout, /^ {2}hermes gateway run .*\n {2}hermes chat --query/m)
  assert.match(stdout, /^.*: \/docs/m)
  assert.deepEqual(await runInProcess(home, []), { code: 0, stdout, stderr: '' })
  assert.match((await runInProcess(home, ['help', 'chat'])).stdout, /--session <name>/)
})

/** The words of every command and subcommand. */
function commandPaths(command: Command): string[][] {
  return command.commands.flatMap((one) => [[one.name()], ...commandPaths(one).map((path) => [one.name(), ...path])])
}

test('every group and every command has its own help', async (t) => {
  const home = tempHome(t)
  const paths = commandPaths(buildProgram(createTestContext(home)))
  assert.ok(paths.length > 40)
  for (const path of paths) {
    const { code, stdout, stderr } = await runInProcess(home, [...path, '--help'])
    assert.deepEqual([code, stderr], [0, ''], path.join(' '))
    assert.match(stdout, new RegExp(`^Usage: hermes ${path.join(' ')}(?:\\|[a-z]+)? `))
    for (const words of [
      ['help', ...path],
      [...path, '-h'],
    ])
      assert.deepEqual(await runInProcess(home, words), { code: 0, stdout, stderr: '' }, words.join(' '))
  }
})

/** Commands that show a list, or one thing with all its details. */
const listNames = ['list', 'search', 'status', 'show', 'info', 'view', 'check', 'audit', 'logs', 'doctor']

test('every command that shows a list prints it as JSON for scripts', async (t) => {
  const program = buildProgram(createTestContext(tempHome(t)))
  const commandAt = (path: readonly string[]) =>
    path.reduce<Command | undefined>((from, name) => from?.commands.find((each) => each.name() === name), program)
  const lists = commandPaths(program).filter((path) => listNames.includes(path.at(-1) ?? ''))
  assert.ok(lists.length > 20)
  const without = lists
    .filter((path) => commandAt(path)?.options.every(({ long }) => long !== '--json'))
    // These are the words of the service manager.
    .filter((path) => path.join(' ') !== 'service logs')
  assert.deepEqual(without, [])
})

test('help for an unknown command reports the command and has exit code 2', async (t) => {
  const home = tempHome(t)
  const mistakes = [
    ['frobnicate', '--help'],
    ['nonsense', '--help'],
    ['help', 'nonsense'],
    ['sessions', 'lst', '--help'],
    ['help', 'sessions', 'lst'],
    ['start'],
  ]
  for (const words of mistakes) {
    const { code, stdout, stderr } = await runInProcess(home, words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.ok(stderr.includes(`'${words.find((word) => !['help', 'sessions'].includes(word))}'`), stderr)
  }
})

test('no line of help is wider than a terminal of 100 columns', async (t) => {
  const home = tempHome(t)
  const pages = [['--help'], ['gateway', 'run', '--help'], ['sessions', '--help'], ['chat', '--help']]
  for (const words of pages) {
    const { stdout } = await runInProcess(home, words)
    for (const line of stdout.split('\n')) assert.ok(line.length <= 100, line)
  }
})

test('a misspelt command or option gets the nearest match and exit code 2', async (t) => {
  const home = tempHome(t)
  const mistakes = [
    { words: ['gatway', 'run'], nearest: 'gateway' },
    { words: ['sessions', 'lst'], nearest: 'list' },
    { words: ['chat', '--qery', 'x'], nearest: '--query' },
    { words: ['gateway', 'run', '--strct'], nearest: '--strict' },
  ]
  const knownWords = ['gateway', 'run', 'sessions', 'chat']
  for (const { words, nearest } of mistakes) {
    const { code, stdout, stderr } = await runInProcess(home, words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.match(stderr, new RegExp(`${words.find((word) => !knownWords.includes(word))}.*${nearest}`, 's'))
    assert.match(stderr, /^hermes: /)
    assert.match(stderr, /\(cli\/usage\)\n$/)
  }
})

test('invalid arguments get the expected form and exit code 2', async (t) => {
  const home = tempHome(t)
  const mistakes = [
    ['inbox', 'retry', 'first'],
    ['outbox', 'drop'],
    ['sessions', 'list', '--limit', '0'],
    ['sessions', 'search'],
    ['sessions', 'list', 'more'],
    ['chat', '--query', '  '],
    ['chat', '--query', 'x', '--session', 'no spaces'],
  ]
  for (const words of mistakes) {
    const { code, stdout, stderr } = await runInProcess(home, words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.match(stderr, /\(cli\/usage\)\n$/)
  }
  const group = await runInProcess(home, ['gateway'])
  assert.deepEqual([group.code, group.stdout], [2, ''])
  assert.notEqual(group.stderr, '')
  assert.equal(existsSync(join(home, 'state.db')), false)
})

test('inspecting a home that does not exist is no error and creates nothing', async (t) => {
  const home = join(tempHome(t), 'none')
  const inspections = [
    { words: ['status'], code: 3 },
    { words: ['doctor'], code: 0, environment: { HERMES_HTTP_PORT: '0' } },
    { words: ['config', 'check'], code: 0 },
    { words: ['config', 'show'], code: 0 },
    { words: ['sessions', 'list'], code: 0 },
    { words: ['sessions', 'search', 'x'], code: 0 },
    { words: ['inbox', 'list'], code: 0 },
    { words: ['outbox', 'list'], code: 0 },
    { words: ['web', 'url'], code: 3 },
    { words: ['gateway', 'stop'], code: 3 },
  ]
  for (const { words, code, environment } of inspections) {
    const run = await runInProcess(home, words, { environment: environment ?? {} })
    assert.equal(run.code, code, `${words.join(' ')}: ${run.stderr}`)
  }
  assert.equal((await hermes(t, ['config', 'path'], { home })).stdout, `${join(home, 'config.yaml')}\n`)
  assert.equal(existsSync(home), false)
})

test('an empty list is reported on stderr, so that a script reads no row', async (t) => {
  const home = tempHome(t)
  const lists = [
    ['inbox', 'list'],
    ['outbox', 'list'],
    ['sessions', 'list'],
    ['sessions', 'search', 'x'],
  ]
  for (const words of lists) {
    const piped = await runInProcess(home, words)
    assert.deepEqual([piped.code, piped.stdout], [0, ''], words.join(' '))
    assert.match(piped.stderr, /^\S.*\n$/, words.join(' '))
    const terminal = await runInProcess(home, words, { terminal: 100 })
    assert.deepEqual(terminal, { code: 0, stdout: piped.stderr, stderr: '' })
    assert.deepEqual(await runInProcess(home, [...words, '--json']), { code: 0, stdout: '[]\n', stderr: '' })
  }
})

test('a home that is not a directory is reported with a hint and exit code 78', async (t) => {
  const home = new URL('../../package.json', import.meta.url).pathname
  const runs = await Promise.all(
    [['status'], ['chat', '-q', 'x'], ['gateway', 'run']].map((words) => hermes(t, words, { home })),
  )
  for (const run of runs) assertFailed(run, 'home/unusable', 'package.json', 'HERMES_HOME')
})
