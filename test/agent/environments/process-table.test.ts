import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackgroundCommand } from '../../../src/agent/environments/environment.ts'
import { createProcessTable } from '../../../src/agent/environments/session-resources.ts'

function command() {
  const end = Promise.withResolvers<{ exitCode: number | null }>()
  let tell: (text: string) => void = () => undefined
  let killed = 0
  const process: BackgroundCommand = {
    pid: 1,
    exited: end.promise,
    onOutput: (listener) => {
      tell = listener
    },
    write: () => true,
    kill: () => {
      killed += 1
    },
  }
  return { process, end, print: (text: string) => tell(text), killed: () => killed }
}

test('takeOutput returns the output since the last call, log returns everything', () => {
  const table = createProcessTable({ now: () => 1_000 })
  const server = command()
  const entry = table.add('serve', server.process)
  assert.equal(entry.id, 'proc_1')
  assert.equal(entry.startedAt, 1_000)
  server.print('one\n')
  assert.equal(entry.takeOutput(), 'one\n')
  server.print('two\n')
  assert.equal(entry.takeOutput(), 'two\n')
  assert.equal(entry.takeOutput(), '')
  assert.equal(entry.log(), 'one\ntwo\n')
})

test('only the newest output of a command is retained, cut between characters', () => {
  const table = createProcessTable({ now: () => 0, maxLogChars: 5 })
  const noisy = command()
  const entry = table.add('yes', noisy.process)
  for (let turn = 0; turn < 100; turn++) noisy.print('😀😀')
  assert.equal(entry.log(), '[… earlier output left out …]\n😀😀')
  assert.equal(entry.takeOutput(), '[… earlier output left out …]\n😀😀')
})

test('the exit of a command is recorded with its time', async () => {
  let now = 5
  const table = createProcessTable({ now: () => now })
  const job = command()
  const entry = table.add('job', job.process)
  assert.equal(entry.exit(), undefined)
  now = 9
  job.end.resolve({ exitCode: 2 })
  await job.process.exited
  assert.deepEqual(entry.exit(), { exitCode: 2, at: 9 })
})

test('the oldest exited commands are dropped first, running ones never', async () => {
  const table = createProcessTable({ now: () => 0, maxExited: 2 })
  const server = command()
  table.add('server', server.process)
  for (let turn = 0; turn < 4; turn++) {
    const job = command()
    table.add('job', job.process)
    job.end.resolve({ exitCode: 0 })
    await job.process.exited
  }
  assert.deepEqual(
    table.list().map((entry) => entry.id),
    ['proc_1', 'proc_4', 'proc_5'],
  )
  assert.equal(table.get('proc_2'), undefined)
})

test('killAll kills only running commands', async () => {
  const table = createProcessTable({ now: () => 0 })
  const server = command()
  const job = command()
  table.add('server', server.process)
  table.add('job', job.process)
  job.end.resolve({ exitCode: 0 })
  await job.process.exited
  table.killAll()
  table.killAll()
  assert.equal(server.killed(), 2)
  assert.equal(job.killed(), 0)
})
