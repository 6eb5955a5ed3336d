/**
 * The event file of the plugin: complete lines after disk errors, and bounded memory.
 */
import assert from 'node:assert/strict'
import { appendFileSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createBufferedWriter } from '../../../plugins/atof/buffered-writer.ts'
import { parseAtofSettings } from '../../../plugins/atof/settings.ts'
import { createRotatingFile, type RotatingFile } from '../../../src/lib/rotating-file.ts'
import { createRecordingLog } from '../../hosts/support.ts'
import { tempHome } from '../../kit/temp-home.ts'
import { startWithBundledPlugins } from './support.ts'

function linesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  assert.ok(text.endsWith('\n'))
  return text.slice(0, -1).split('\n')
}

function eventsOf({ records }: ReturnType<typeof createRecordingLog>): string[] {
  return records.map(({ fields }) => [fields['event'], fields['lost']].filter((part) => part !== undefined).join(' '))
}

test('events are appended as JSON lines to a file that only its owner can read', async (t) => {
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

test('with include_content: false, events contain no texts of users', async (t) => {
  const gateway = await startWithBundledPlugins(t, { atof: { include_content: false, path: 'events' } })
  await gateway.say('a private question')
  await gateway.waitForReply('You said')
  await gateway.stop()
  const text = readFileSync(join(gateway.home.root, 'events'), 'utf8')
  assert.doesNotMatch(text, /private/)
  assert.match(text, /"category":"llm".*"model_name":"test-model"/)
})

test('a plugin whose path is outside the home directory is not loaded', async (t) => {
  const gateway = await startWithBundledPlugins(t, { atof: { path: '../events' } })
  assert.match(gateway.current().status().plugins[0]?.reason ?? '', /settings\.path/)
})

test('an invalid setting is named', () => {
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

test('events that do not fit into the queue are dropped and counted, and the caller does not wait', async () => {
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const written: string[] = []
  const slow: Pick<RotatingFile, 'append' | 'close'> = {
    async append(lines) {
      begun.resolve()
      await gate.promise
      written.push(...lines)
    },
    close: () => undefined,
  }
  const log = createRecordingLog()
  const writer = createBufferedWriter(slow, 30, log)
  writer.write('aaaaaaaaa')
  await begun.promise
  for (const line of ['bbbbbbbbb', 'ccccccccc', 'ddddddddd', 'eeeeeeeee']) writer.write(line)
  gate.resolve()
  await writer.close()
  assert.deepEqual(written, ['aaaaaaaaa', 'bbbbbbbbb', 'ccccccccc'])
  assert.deepEqual(eventsOf(log), ['atof.events_lost 2'])
})

test('a write error is logged once, and writing continues after it', async (t) => {
  const home = tempHome(t)
  const file = join(home, 'events')
  const real = createRotatingFile({ root: home, path: file, maxBytes: 1_000, keepFiles: 1 })
  let fails = true
  let attempts = 0
  const broken: Pick<RotatingFile, 'append' | 'close'> = {
    async append(lines) {
      attempts += 1
      if (!fails) return real.append(lines)
      appendFileSync(file, lines[0]?.slice(0, 3) ?? '')
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
    },
    close: real.close,
  }
  const log = createRecordingLog()
  const writer = createBufferedWriter(broken, 1_000, log)
  const wrote = async (line: string) => {
    const before = attempts
    writer.write(line)
    while (attempts === before) await new Promise((resolve) => setImmediate(resolve))
  }
  await wrote('first')
  await wrote('second')
  fails = false
  await wrote('third')
  await writer.close()
  assert.deepEqual(linesOf(file), ['firsec', 'third'])
  assert.deepEqual(eventsOf(log), ['atof.write_failed', 'atof.events_lost 2'])
})
