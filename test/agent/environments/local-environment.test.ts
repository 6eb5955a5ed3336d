import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { ExecuteOptions } from '../../../src/agent/environments/environment.ts'
import { createLocalEnvironment } from '../../../src/agent/environments/local-environment.ts'
import { isHermesError } from '../../../src/lib/errors.ts'
import { sleep } from '../../../src/lib/timers.ts'

let directory = ''
before(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'hermes-local-')))
})
after(() => rm(directory, { recursive: true, force: true }))

const path = '/usr/local/bin:/usr/bin:/bin'
const never = new AbortController().signal
const limits = (more: Partial<ExecuteOptions> = {}): ExecuteOptions => ({
  timeoutMs: 20_000,
  signal: never,
  maxOutputBytes: 10_000,
  ...more,
})
const local = (more: Partial<Parameters<typeof createLocalEnvironment>[0]> = {}) =>
  createLocalEnvironment({ cwd: directory, env: { PATH: path, HOME: directory }, graceMs: 100, ...more })

/** Waits until a file exists. The time limit is that of the test runner. */
async function appears(file: string): Promise<void> {
  while (!existsSync(file)) await sleep(5)
}

test('a command runs in the directory of the environment and returns its output and exit code', async () => {
  const result = await local().execute('pwd; exit 3', limits())
  assert.deepEqual(result, { output: `${directory}\n`, exitCode: 3, timedOut: false, aborted: false })
})

test('stdout and stderr are returned in the order in which they were written', async () => {
  const { output } = await local().execute('for i in 1 2 3 4; do echo out$i; echo err$i >&2; done', limits())
  assert.equal(output, 'out1\nerr1\nout2\nerr2\nout3\nerr3\nout4\nerr4\n')
})

test('a command may run in another directory, relative to that of the environment', async () => {
  await mkdir(join(directory, 'inner'), { recursive: true })
  const { output } = await local().execute('pwd', limits({ cwd: 'inner' }))
  assert.equal(output, `${join(directory, 'inner')}\n`)
})

test('a missing directory is an error that contains its path', async () => {
  await assert.rejects(
    local().execute('true', limits({ cwd: 'nowhere' })),
    (error) => isHermesError(error, 'terminal/no-folder') && error.message.includes(join(directory, 'nowhere')),
  )
})

test('a command receives harmless and passed-through variables, but never keys and tokens of the gateway', async () => {
  const environment = local({
    env: {
      PATH: path,
      HOME: directory,
      LC_ALL: 'C.UTF-8',
      HERMES_HOME: '/home/me/.hermes',
      OPENAI_API_KEY: 'sk-own',
      TELEGRAM_BOT_TOKEN: 'tg-own',
      AWS_SECRET_ACCESS_KEY: 'aws',
      GH_TOKEN: 'mine',
      EDITOR: 'vi',
    },
    passthrough: ['GH_TOKEN', 'OPENAI_API_KEY', 'TELEGRAM_BOT_TOKEN'],
    blocked: ['TELEGRAM_BOT_TOKEN'],
  })
  const { output } = await environment.execute('env', limits())
  const names = output
    .split('\n')
    .map((line) => line.split('=')[0] ?? '')
    .filter((name) => name !== '' && name !== '_' && name !== 'SHLVL' && name !== 'OLDPWD')
  assert.deepEqual(names.sort(), ['GH_TOKEN', 'HERMES_HOME', 'HOME', 'LC_ALL', 'PATH', 'PWD'])
})

test('the directory with hermes is first on the PATH', async () => {
  const { output } = await local({ binDir: '/opt/gateway/bin' }).execute('echo "$PATH"', limits())
  assert.equal(output, `/opt/gateway/bin:${path}\n`)
})

test('a long output keeps its beginning and its end and contains the number of missing bytes', async () => {
  const { output } = await local().execute('echo first; seq 100000; echo last', limits({ maxOutputBytes: 2_000 }))
  assert.match(output, /^first\n1\n2\n/)
  assert.match(output, /99999\n100000\nlast\n$/)
  assert.match(output, /\n\[… \d+ .*\]\n/)
  assert.ok(Buffer.byteLength(output) < 2_100)
})

test('a command that exceeds its timeout is killed together with its descendants', async () => {
  const born = join(directory, 'born')
  const late = join(directory, 'late')
  // The grandchild ignores SIGTERM: only SIGKILL to the whole group ends it.
  const grandchild = `trap "" TERM; echo $BASHPID > "${born}"; while [ ! -e "${directory}/go" ]; do sleep 0.02; done; touch "${late}"`
  const result = await local().execute(`bash -c '${grandchild}' & wait`, limits({ timeoutMs: 300 }))
  assert.equal(result.timedOut, true)
  assert.equal(result.exitCode, null)
  const pid = Number(readFileSync(born, 'utf8'))
  while (isRunning(pid)) await sleep(5)
  assert.ok(!existsSync(late), 'the grandchild was killed before it wrote its file')
})

test('an aborted command ends within a second and is reported as aborted', async () => {
  const stop = new AbortController()
  const started = join(directory, 'started')
  const running = local().execute(`echo begun; touch '${started}'; sleep 60`, limits({ signal: stop.signal }))
  await appears(started)
  stop.abort()
  assert.deepEqual(await running, { output: 'begun\n', exitCode: null, timedOut: false, aborted: true })
})

test('a command does not start when its signal has aborted already', async () => {
  const result = await local().execute(`touch '${join(directory, 'no')}'`, limits({ signal: AbortSignal.abort() }))
  assert.equal(result.aborted, true)
  assert.ok(!existsSync(join(directory, 'no')))
})

test('a child process that keeps the pipe open does not block the command, and cleanup kills it', async () => {
  const environment = local()
  const result = await environment.execute('sleep 60 & echo $!', limits())
  assert.equal(result.exitCode, 0)
  const [pidLine, ...rest] = result.output.trim().split('\n')
  assert.match(rest.at(-1) ?? '', /^\[.+\]$/, 'a notice says that a process is running')
  const pid = Number(pidLine)
  assert.doesNotThrow(() => process.kill(pid, 0))
  await environment.cleanup()
  await environment.cleanup()
  while (isRunning(pid)) await sleep(5)
})

test('NUL bytes and invalid UTF-8 in the output are replaced', async () => {
  const { output } = await local().execute(`printf 'a\\0b\\377c \\342\\202\\254'`, limits())
  assert.equal(output, 'a\u2400b\uFFFDc €')
})

test('a command has an empty input, so that a program that reads it does not wait forever', async () => {
  const { output } = await local().execute('cat; read x || echo no input', limits())
  assert.equal(output, 'no input\n')
})

test('a shell that cannot start and a command that is too long are errors with a code', async () => {
  await assert.rejects(local({ shell: '/no/such/shell' }).execute('true', limits()), (error) =>
    isHermesError(error, 'terminal/cannot-start'),
  )
  await assert.rejects(local().execute('echo \0', limits()), { code: 'terminal/cannot-start' })
  await assert.rejects(
    local().execute(`: ${'x'.repeat(200_000)}`, limits()),
    (error) => isHermesError(error, 'terminal/cannot-start') && /\b200002\b/.test(error.detail),
  )
})

test('commands run with sh as well', async () => {
  const { output } = await local({ shell: '/bin/sh' }).execute('echo "$0"; echo err >&2', limits())
  assert.equal(output, '/bin/sh\nerr\n')
})

test('a syntax error is part of the output', async () => {
  const result = await local().execute('echo (', limits())
  assert.match(result.output, /syntax error/)
  assert.notEqual(result.exitCode, 0)
})

test('a background command accepts input and reports its output and exit', async () => {
  const environment = local()
  const command = await environment.spawn?.('read line; echo "got $line"; exit 4', {})
  assert.ok(command)
  let seen = ''
  command.onOutput((text) => {
    seen += text
  })
  assert.equal(command.write('hello\n'), true)
  assert.deepEqual(await command.exited, { exitCode: 4 })
  assert.equal(seen, 'got hello\n')
  assert.equal(command.write('too late\n'), false)
  command.kill()
})

test('killing a background command kills its whole process group', async () => {
  const environment = local()
  const file = join(directory, 'child-pid')
  const command = await environment.spawn?.(`sleep 60 & echo $! > '${file}.new'; mv '${file}.new' '${file}'; wait`, {})
  assert.ok(command)
  await appears(file)
  const { output } = await environment.execute(`cat '${file}'`, limits())
  command.kill()
  assert.deepEqual(await command.exited, { exitCode: null })
  while (isRunning(Number(output))) await sleep(5)
})

test('cleanup kills background commands', async () => {
  const environment = local()
  const command = await environment.spawn?.('sleep 60', {})
  assert.ok(command)
  await environment.cleanup()
  assert.deepEqual(await command.exited, { exitCode: null })
})

test('a working directory that disappeared is an error with a code, also for background commands', async () => {
  const gone = join(directory, 'gone')
  const environment = local({ cwd: gone })
  await assert.rejects(
    async () => environment.spawn?.('true', {}),
    (error) => isHermesError(error, 'terminal/no-folder'),
  )
  await mkdir(gone)
  await writeFile(join(gone, 'a'), '')
  assert.equal((await environment.execute('ls', limits())).output, 'a\n')
})

/** A zombie process does not count as running. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
