/**
 * The file of events: whole lines, whatever happens to the disk, and bounded in memory and on it.
 */
import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createBufferedWriter } from '../../../plugins/atof/buffered-writer.ts'
import { createRotatingFile, type RotatingFile } from '../../../plugins/atof/rotating-file.ts'
import { parseAtofSettings } from '../../../plugins/atof/settings.ts'
import { createRecordingLog } from '../../hosts/support.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { startWithBundledPlugins } from './support.ts'

function linesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  assert.ok(text.endsWith('\n'))
  return text.slice(0, -1).split('\n')
}

test('every event of a turn is a line of JSON in a file that only its owner can read; a restart goes on in it', async (t) => {
  const gateway = await startWithBundledPlugins(t, { atof: {} })
  const file = join(gateway.home.root, 'atof/events.jsonl')
  for (const word of ['first', 'second']) {
    await gateway.say(word)
    await gateway.waitForReply(`You said: ${word}`)
    await gateway.stop()
    await gateway.start()
  }
  const events = linesOf(file).map((line) => JSON.parse(line))
  assert.deepEqual(events.map(({ name, scope_category: edge }) => `${name} ${edge}`).slice(0, events.length / 2), [
    ...['session start', 'turn start', 'iteration start', 'openai start'],
    ...['openai end', 'iteration end', 'turn end', 'session end'],
  ])
  assert.equal(events.length, 16)
  assert.match(events[3].timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  assert.match(JSON.stringify(events[3].data), /first/)
  assert.deepEqual([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777], [0o600, 0o700])
})

test('without content events tell what happened and not what was said', async (t) => {
  const gateway = await startWithBundledPlugins(t, { atof: { include_content: false, path: 'events' } })
  await gateway.say('a private question')
  await gateway.waitForReply('You said')
  await gateway.stop()
  const text = readFileSync(join(gateway.home.root, 'events'), 'utf8')
  assert.doesNotMatch(text, /private/)
  assert.match(text, /"category":"llm".*"model_name":"test-model"/)
})

test('a path outside of the home keeps it from being loaded, and a link does not lead out of it', async (t) => {
  const gateway = await startWithBundledPlugins(t, { atof: { path: '../events' } })
  assert.match(gateway.current().status().plugins[0]?.reason ?? '', /settings\.path: expected a file within/)

  const [home, elsewhere] = [tempHome(t), tempHome(t)]
  symlinkSync(elsewhere, join(home, 'atof'))
  const linked = createRotatingFile({ home, file: join(home, 'atof/events'), maxBytes: 100, keepFiles: 1 })
  await assert.rejects(linked.append(['x']), /leads out of/)
  symlinkSync(join(elsewhere, 'target'), join(home, 'events'))
  const link = createRotatingFile({ home, file: join(home, 'events'), maxBytes: 100, keepFiles: 1 })
  await assert.rejects(link.append(['x']), { code: 'ELOOP' })
  assert.deepEqual(readdirSync(elsewhere), [])
})

test('settings that cannot be used are named', () => {
  const base = { path: 'x', max_mb: 1, keep_files: 1, max_queue_mb: 1 }
  assert.equal(parseAtofSettings(base, '/home').maxBytes, 1_048_576)
  for (const [key, value] of [
    ['path', ''],
    ['path', '/etc/passwd'],
    ['max_mb', 0],
    ['keep_files', 1.5],
    ['max_queue_mb', -1],
  ] as const)
    assert.throws(() => parseAtofSettings({ ...base, [key]: value }, '/home'), new RegExp(`settings\\.${key}`))
})

test('a full file is set aside, lines stay whole and in order, the oldest files go', async (t) => {
  const home = tempHome(t)
  const file = join(home, 'events')
  const rotated = createRotatingFile({ home, file, maxBytes: 40, keepFiles: 2 })
  // Each is 10 bytes with its end.
  const lines = Array.from({ length: 14 }, (_, number) => `line ${String(number).padStart(4, '0')}`)
  await rotated.append(lines.slice(0, 5))
  for (const line of lines.slice(5)) await rotated.append([line])
  const huge = 'x'.repeat(100)
  await rotated.append([huge, 'after'])
  await rotated.close()
  assert.deepEqual(readdirSync(home).sort(), ['events', 'events.1', 'events.2'])
  assert.deepEqual(linesOf(`${file}.2`), lines.slice(12))
  assert.deepEqual(linesOf(`${file}.1`), [huge])
  assert.deepEqual(linesOf(file), ['after'])
})

test('a line that was cut off does not spoil the next one', async (t) => {
  const home = tempHome(t)
  const file = join(home, 'deep/events')
  mkdirSync(join(home, 'deep'))
  writeFileSync(file, '{"whole":1}\n{"cut', { mode: 0o644 })
  const rotated = createRotatingFile({ home, file, maxBytes: 1_000, keepFiles: 2 })
  await rotated.append(['{"next":1}'])
  await rotated.close()
  assert.deepEqual(linesOf(file), ['{"whole":1}', '{"cut', '{"next":1}'])
  assert.equal(statSync(file).mode & 0o777, 0o600)
})

test('what does not fit into the queue is dropped and counted; whoever writes never waits', async () => {
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const written: string[] = []
  const slow: RotatingFile = {
    async append(lines) {
      begun.resolve()
      await gate.promise
      written.push(...lines)
    },
    close: async () => undefined,
  }
  const log = createRecordingLog()
  const writer = createBufferedWriter({ file: slow, maxQueueBytes: 30, log })
  writer.write('aaaaaaaaa')
  await begun.promise
  for (const line of ['bbbbbbbbb', 'ccccccccc', 'ddddddddd', 'eeeeeeeee']) writer.write(line)
  gate.resolve()
  await writer.close()
  assert.deepEqual(written, ['aaaaaaaaa', 'bbbbbbbbb', 'ccccccccc'])
  assert.deepEqual(
    log.records.map(({ text }) => text),
    ['2 events were not written; now they are again'],
  )
})

test('a disk that refuses is told of once, and writing goes on when there is room again', async (t) => {
  const home = tempHome(t)
  const file = join(home, 'events')
  const real = createRotatingFile({ home, file, maxBytes: 1_000, keepFiles: 1 })
  let refuses = true
  let tries = 0
  const broken: RotatingFile = {
    async append(lines) {
      tries += 1
      if (!refuses) return real.append(lines)
      appendFileSync(file, lines[0]?.slice(0, 3) ?? '')
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    },
    close: real.close,
  }
  const log = createRecordingLog()
  const writer = createBufferedWriter({ file: broken, maxQueueBytes: 1_000, log })
  const wrote = async (line: string) => {
    const before = tries
    writer.write(line)
    while (tries === before) await new Promise((resolve) => setImmediate(resolve))
  }
  await wrote('first')
  await wrote('second')
  refuses = false
  await wrote('third')
  await writer.close()
  assert.deepEqual(linesOf(file), ['firsec', 'third'])
  assert.deepEqual(
    log.records.map(({ text }) => text),
    ['events cannot be written: no space left on device', '2 events were not written; now they are again'],
  )
})
