import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackgroundCommand, Environment } from '../../../src/agent/environments/environment.ts'
import { createProcessTable, createSessionResourcePool } from '../../../src/agent/environments/session-resources.ts'
import type { TodoItem } from '../../../src/agent/support/todo-list.ts'
import type { ChatMessage } from '../../../src/message/transcript.ts'
import { noFiles } from './no-files.ts'

const none: readonly ChatMessage[] = []
const step = (content: string): TodoItem => ({ id: '1', content, status: 'pending' })

/** Environments that record their cleanup, and whose commands exit when the test says so. */
function pool() {
  const cleaned: number[] = []
  const commands: PromiseWithResolvers<void>[] = []
  let made = 0
  const createEnvironment = (): Environment => {
    const number = made++
    return {
      kind: 'test',
      cwd: `/${number}`,
      files: noFiles,
      async execute() {
        const command = Promise.withResolvers<void>()
        commands.push(command)
        await command.promise
        return { output: '', exitCode: 0, timedOut: false, aborted: false }
      },
      async cleanup() {
        cleaned.push(number)
      },
    }
  }
  const resources = createSessionResourcePool({
    createEnvironment,
    createProcessTable: () => createProcessTable({ now: () => 0 }),
    readTodos: (text) => (text.startsWith('[') ? [step(text)] : null),
  })
  return { resources, cleaned, commands, made: () => made }
}

function background(): { process: BackgroundCommand; killed(): boolean } {
  let killed = false
  const process: BackgroundCommand = {
    pid: 1,
    exited: new Promise(() => undefined),
    onOutput: () => undefined,
    write: () => true,
    kill: () => {
      killed = true
    },
  }
  return { process, killed: () => killed }
}

const options = { timeoutMs: 1, signal: new AbortController().signal, maxOutputBytes: 1 }

test('a session keeps its environment and its list of steps between turns', () => {
  const { resources, made } = pool()
  const first = resources.getOrCreate('a', () => none)
  first.todos.write([step('buy milk')])
  const again = resources.getOrCreate('a', () => none)
  assert.equal(again, first)
  assert.deepEqual(again.todos.read(), [step('buy milk')])
  assert.notEqual(
    resources.getOrCreate('b', () => none),
    first,
  )
  assert.deepEqual(resources.getOrCreate('b', () => none).todos.read(), [])
  assert.equal(made(), 2)
})

test('after a restart the last valid list of steps is restored from the transcript', () => {
  const { resources } = pool()
  const todo = (id: string, text: string) => ({ id, name: 'todo', arguments: text })
  const transcript: ChatMessage[] = [
    { role: 'assistant', content: '', toolCalls: [todo('1', '[old]')] },
    {
      role: 'assistant',
      content: '',
      toolCalls: [todo('2', '[first]'), todo('3', '[second]'), { ...todo('4', '[x]'), name: 'other' }],
    },
    { role: 'assistant', content: '', toolCalls: [todo('5', '{"merge": nothing}')] },
    { role: 'user', content: 'go on' },
  ]
  let looks = 0
  const { todos } = resources.getOrCreate('a', () => {
    looks += 1
    return transcript
  })
  assert.equal(looks, 0, 'the transcript is not read for a list that is not requested')
  assert.deepEqual(todos.read(), [step('[second]')])
  todos.read()
  assert.equal(looks, 1)
})

test('the least recently used idle session is dropped first', () => {
  const { resources, cleaned, made } = pool()
  for (let number = 0; number < 256; number++) resources.getOrCreate(`s${number}`, () => none)
  resources.getOrCreate('s0', () => none)
  assert.deepEqual(cleaned, [])
  resources.getOrCreate('one more', () => none)
  assert.deepEqual(cleaned, [1])
  resources.getOrCreate('s1', () => none)
  assert.equal(made(), 258)
})

test('a session with a running command is never dropped, in a turn or in the background', async () => {
  const { resources, cleaned, commands } = pool()
  const running = resources.getOrCreate('s0', () => none).environment.execute('make', options)
  resources.getOrCreate('s1', () => none).processes.add('serve', background().process)
  for (let number = 2; number <= 257; number++) resources.getOrCreate(`s${number}`, () => none)
  assert.deepEqual(cleaned, [2, 3])
  commands[0]?.resolve()
  await running
  resources.getOrCreate('one more', () => none)
  assert.deepEqual(cleaned, [2, 3, 0])
})

test('the newest session is retained when all others are active', () => {
  const { resources, cleaned } = pool()
  for (let number = 0; number < 256; number++) {
    resources.getOrCreate(`s${number}`, () => none).processes.add('serve', background().process)
  }
  const newest = resources.getOrCreate('newest', () => none)
  assert.deepEqual(cleaned, [])
  assert.equal(
    resources.getOrCreate('newest', () => none),
    newest,
  )
})

test('close kills all running commands and may be called twice', async () => {
  const { resources, cleaned } = pool()
  const job = background()
  resources.getOrCreate('a', () => none).processes.add('serve', job.process)
  resources.getOrCreate('b', () => none)
  await resources.close()
  await resources.close()
  assert.equal(job.killed(), true)
  assert.deepEqual(cleaned, [0, 1])
})
