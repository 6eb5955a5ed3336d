import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { inPseudoTerminal } from '../../../src/agent/environments/pseudo-terminal.ts'
import { sleep } from '../../../src/lib/timers.ts'
import { createWorkbench, type Workbench } from './workbench.ts'

let bench: Workbench
before(async () => {
  bench = await createWorkbench()
})
after(() => bench[Symbol.asyncDispose]())

test('a command runs in the directory of the environment and returns its exit code', async () => {
  assert.deepEqual(await bench.run('terminal', { command: 'pwd; false' }), { output: `${bench.cwd}\n`, exit_code: 1 })
})

test('a command may run in another directory', async () => {
  await mkdir(join(bench.cwd, 'sub'), { recursive: true })
  const { output } = await bench.run('terminal', { command: 'pwd', workdir: 'sub' })
  assert.equal(output, `${join(bench.cwd, 'sub')}\n`)
  await assert.rejects(bench.run('terminal', { command: 'pwd', workdir: 'missing' }), { code: 'terminal/no-folder' })
})

test('a command that takes too long is killed, and the result contains the limit', async () => {
  const result = await bench.run('terminal', { command: 'echo begun; sleep 60', timeout: 0.2 })
  assert.equal(result['output'], 'begun\n')
  assert.equal(result['exit_code'], null)
  assert.match(String(result['timed_out']), /\b0\.2\b/)
})

test('stopping the turn kills the command', async () => {
  const stop = new AbortController()
  const file = join(bench.cwd, 'begun')
  const running = bench.run('terminal', { command: `touch '${file}'; sleep 60` }, { signal: stop.signal })
  while (!existsSync(file)) await sleep(5)
  stop.abort()
  assert.equal((await running)['aborted'], true)
})

test('a forbidden command is refused and does not run', async () => {
  const { rule } = await bench.run('terminal', { command: `touch '${bench.cwd}/ran'; rm -rf /` })
  assert.equal(rule, 'remove-vital')
  assert.ok(!existsSync(join(bench.cwd, 'ran')))
})

test('a command that needs approval is refused and does not run', async () => {
  const { rule } = await bench.run('terminal', { command: `touch '${bench.cwd}/ran'; rm -r build` })
  assert.equal(rule, 'remove-recursive')
  assert.ok(!existsSync(join(bench.cwd, 'ran')))
})

test('the policy takes the working directory into account', async () => {
  const { rule } = await bench.run('terminal', { command: 'rm -rf *', workdir: '/' })
  assert.equal(rule, 'remove-vital')
})

test('escape sequences are removed and a long output is truncated to valid JSON', async () => {
  const coloured = await bench.run('terminal', { command: "printf '\\033[31mred\\033[0m'" })
  assert.equal(coloured['output'], 'red')
  const long = await bench.run('terminal', { command: 'seq 20000' }, { limits: { maxResultChars: 2_000 } })
  assert.match(String(long['output']), /^1\n2\n[\s\S]*\n\[… \d+ .+\]\n[\s\S]*20000\n$/)
  assert.equal(long['exit_code'], 0)
  assert.ok(JSON.stringify(long).length <= 2_000)
})

test('a background command can be started, read, written to and killed', async () => {
  const { id, status } = await bench.run('terminal', {
    command: 'echo ready; while read -r line; do echo "got $line"; done',
    background: true,
  })
  assert.equal(status, 'running')
  const seen = async (text: string) => {
    let output = ''
    while (!output.includes(text)) {
      output += String((await bench.run('process', { action: 'poll', id }))['output'])
      await sleep(5)
    }
    return output
  }
  assert.equal(await seen('ready'), 'ready\n')
  await bench.run('process', { action: 'write', id, data: 'hello\n' })
  assert.equal(await seen('hello'), 'got hello\n')
  assert.equal((await bench.run('process', { action: 'log', id }))['output'], 'ready\ngot hello\n')
  const { processes } = await bench.run('process', { action: 'list' })
  assert.match(JSON.stringify(processes), /"status":"running"/)
  assert.equal((await bench.run('process', { action: 'kill', id }))['status'], 'ended')
  assert.equal((await bench.run('process', { action: 'write', id, data: 'x' }))['code'], 'input_closed')
})

test('waiting for a background command returns when it exits or the turn is stopped', async () => {
  const quick = await bench.run('terminal', { command: 'echo done; exit 7', background: true })
  const ended = await bench.run('process', { action: 'wait', id: quick['id'] })
  assert.deepEqual(ended, { id: quick['id'], status: 'ended', exit_code: 7, output: 'done\n' })

  const slow = await bench.run('terminal', { command: 'sleep 60', background: true })
  const stopped = await bench.run('process', { action: 'wait', id: slow['id'] }, { signal: AbortSignal.abort() })
  assert.equal(stopped['status'], 'running')
  const over = await bench.run('process', { action: 'wait', id: slow['id'], timeout: 0.01 })
  assert.equal(over['status'], 'running')
})

test('input to a background command is checked by the policy', async () => {
  const shell = await bench.run('terminal', { command: 'bash', background: true })
  assert.equal(shell['rule'], 'piped-shell')
  const { id } = await bench.run('terminal', { command: 'cat', background: true })
  const refused = await bench.run('process', { action: 'write', id, data: 'rm -rf /\n' })
  assert.equal(refused['rule'], 'remove-vital')
})

test('an unknown process id returns an error with the known ids', async () => {
  const { code, error } = await bench.run('process', { action: 'poll', id: 'proc_99' })
  assert.equal(code, 'unknown_process')
  assert.match(String(error), /proc_99.*proc_1/)
  assert.match(String((await bench.run('process', { action: 'poll' }))['error']), /proc_1/)
})

test('an environment without background commands returns an error', async () => {
  const { spawn: _, ...environment } = bench.context.environment
  const { code, error } = await bench.run('terminal', { command: 'ls', background: true }, { environment })
  assert.equal(code, 'no_background_commands')
  assert.match(String(error), /local/)
})

test('a background command takes lines and the end of its input, and a log is read by lines; Hermes\u2019 names work', async () => {
  await using bench = await createWorkbench()
  const { id } = await bench.run('terminal', { command: 'cat; seq 100; echo ended', background: true })
  await bench.run('process', { action: 'submit', session_id: id, data: 'hello' })
  assert.equal((await bench.run('process', { action: 'close', session_id: id }))['error'], undefined)
  const waited = await bench.run('process', { action: 'wait', session_id: id })
  assert.match(String(waited['output']), /^hello\n1\n[\s\S]*ended\n$/)
  assert.equal((await bench.run('process', { action: 'submit', id, data: 'x' }))['code'], 'input_closed')
  assert.equal((await bench.run('process', { action: 'close', id }))['code'], 'input_closed')
  const last = await bench.run('process', { action: 'log', id, limit: 2 })
  assert.deepEqual([last['output'], last['total_lines']], ['100\nended', 102])
  assert.equal((await bench.run('process', { action: 'log', id, offset: 1, limit: 2 }))['output'], '1\n2')
  assert.equal((await bench.run('process', { action: 'submit', id, data: 'rm -rf /' }))['code'], 'command_refused')
})

const hasScript = /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
const withScript = { skip: !hasScript && 'script of util-linux is not installed' }

test('a command can have a terminal, and leaves its directory to the next one', withScript, async () => {
  await using bench = await createWorkbench()
  const command = 'cd /; test -t 0 && test -t 1 && stty size; exit 3'
  assert.deepEqual(await bench.run('terminal', { command, pty: true }), { output: '40 120\n', exit_code: 3, cwd: '/' })
  assert.equal((await bench.run('terminal', { command: 'test -t 1; echo $?' }))['output'], '1\n')
})

test('a program in a terminal is typed to, line by line, until its input ends', withScript, async () => {
  await using bench = await createWorkbench()
  const command = 'read -r line; echo "got $line"; cat; echo ended; exit 4'
  const { id } = await bench.run('terminal', { command, pty: true, background: true })
  await bench.run('process', { action: 'submit', id, data: 'hello' })
  let output = ''
  for (let attempt = 0; attempt < 400 && !output.includes('got hello\n'); attempt++, await sleep(20))
    output += String((await bench.run('process', { action: 'poll', id }))['output'])
  await bench.run('process', { action: 'close', id })
  const ended = await bench.run('process', { action: 'wait', id })
  assert.match(String(ended['output']), /ended\n$/)
  assert.equal(ended['exit_code'], 4)
})

test('a program in a terminal is killed with what it has started', withScript, async () => {
  await using bench = await createWorkbench()
  const { id } = await bench.run('terminal', { command: 'sleep 1000 & echo $!; wait', pty: true, background: true })
  let output = ''
  for (let attempt = 0; attempt < 200 && !/\d+\n/.test(output); attempt++, await sleep(20))
    output += String((await bench.run('process', { action: 'poll', id }))['output'])
  await bench.run('process', { action: 'kill', id })
  await bench.run('process', { action: 'wait', id })
  const isAlive = () => spawnSync('kill', ['-0', output.trim()]).status === 0
  for (let attempt = 0; attempt < 100 && isAlive(); attempt++) await sleep(50)
  assert.ok(!isAlive())
})

test('where no terminal can be made, the command does not run', () => {
  const options = { env: { PATH: '/nonexistent' }, encoding: 'utf8' } as const
  const { status, stdout } = spawnSync('/bin/sh', ['-c', inPseudoTerminal('echo ran')], options)
  assert.equal(status, 127)
  assert.match(stdout, /^pty needs/)
})
