import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createHostOutput } from '../../src/hosts/host-output.ts'
import { createRecordingLog } from './support.ts'

function createTestOutput() {
  const log = createRecordingLog()
  const pauses: { ms: number; go: () => void }[] = []
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      pauses.push({ ms, go: resolve })
      signal?.addEventListener('abort', () => resolve())
    })
  const output = createHostOutput({ log, sleep, now: () => 0 })
  const stdout = new PassThrough()
  output.readStream('stdout', stdout)
  const print = async (text: string) => {
    stdout.write(text)
    await new Promise(setImmediate)
  }
  return { log, pauses, output, stdout, print, texts: () => log.records.map(({ text }) => text) }
}

test('output is logged line by line without empty lines, the last one even without a line break', async () => {
  const { print, stdout, texts, log } = createTestOutput()
  await print('one\n\n  \ntwo\nthr')
  await print('ee')
  stdout.end()
  await new Promise(setImmediate)
  assert.deepEqual(texts(), ['one', 'two', 'three'])
  assert.deepEqual(log.records[0], { level: 'info', fields: { stream: 'stdout' }, text: 'one' })
})

test('too many lines are dropped until the time window ends, reported once, and then logged again', async () => {
  const { print, pauses, texts, log } = createTestOutput()
  await print('line\n'.repeat(200))
  await print(`${'more\n'.repeat(1_000)}half a`)
  await print(' li')
  assert.equal(texts().length, 200)
  const [window] = pauses
  window?.go()
  await new Promise(setImmediate)
  assert.equal(log.records.at(-1)?.fields['event'], 'host.output_dropped')
  await print('ne\nlogged\n')
  assert.equal(texts().at(-1), 'logged')
  assert.equal(texts().length, 202)
})

test('a process that prints without end is throttled', async () => {
  const { pauses, stdout, print } = createTestOutput()
  const megabyte = `${'x'.repeat(1024 * 1024 - 1)}\n`
  for (let n = 0; n < 16; n++) await print(megabyte)
  assert.equal(stdout.isPaused(), false)
  await print(megabyte)
  assert.equal(stdout.isPaused(), true)
  pauses.at(-1)?.go()
  await new Promise(setImmediate)
  assert.equal(stdout.isPaused(), false)
})

test('the end of stderr is kept for error messages', () => {
  const { output } = createTestOutput()
  const stderr = new PassThrough()
  output.readStream('stderr', stderr)
  stderr.emit('data', Buffer.from('first\nexec: python3: not found\n'))
  assert.equal(output.stderrTail(), 'first\nexec: python3: not found')
})
