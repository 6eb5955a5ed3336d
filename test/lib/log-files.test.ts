import assert from 'node:assert/strict'
import { appendFileSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLogReader, keptLogFiles, logFilePath, matchLogLine } from '../../src/lib/log-files.ts'
import { createLog } from '../../src/lib/log-writer.ts'
import { tempHome } from '../kit/temp-home.ts'

const time = Date.UTC(2026, 10, 29)

function line(event: string, fields: object = {}, minutes = 0): string {
  return JSON.stringify({ level: 'info', time: new Date(time + minutes * 60_000).toISOString(), event, ...fields })
}

test('a filter takes levels from one on, names or beginnings of events, conversations, and times', () => {
  const matches = (text: string, filter: Parameters<typeof matchLogLine>[1]) => matchLogLine(text, filter) !== undefined
  const warning = line('outbox.failed', { level: 'warn', session: 'agent:main:cli:dm:a' })
  assert.ok(matches(warning, {}) && matches(warning, { level: 'info' }) && matches(warning, { level: 'warn' }))
  assert.ok(!matches(warning, { level: 'error' }))
  assert.ok(matches(warning, { event: 'outbox.failed' }) && matches(warning, { event: 'outbox.*' }))
  assert.ok(!matches(warning, { event: 'outbox' }) && !matches(warning, { event: 'inbox.*' }))
  assert.ok(matches(warning, { sessions: new Set(['s1', 'agent:main:cli:dm:a']) }))
  assert.ok(!matches(warning, { sessions: new Set(['s1']) }))
  assert.ok(matches(warning, { since: time }) && !matches(warning, { since: time + 1 }))
  for (const damaged of ['', 'plain text', '{"level":"info"', '[1]', '{"level":"loud"}'])
    assert.ok(!matches(damaged, {}), damaged)
})

test('the newest lines are found over all rotated files, in their order', (t) => {
  const directory = tempHome(t)
  const reader = createLogReader(directory)
  assert.deepEqual(createLogReader(join(directory, 'none')).tail({}, 5), [])
  writeFileSync(logFilePath(directory, 2), `${line('a')}\n${line('b')}\n`)
  writeFileSync(logFilePath(directory, 1), `${line('c')}\n`)
  writeFileSync(logFilePath(directory, 0), `${line('d')}\n${line('e')}`)
  const events = (limit: number, event?: string) => reader.tail({ event }, limit).map(({ fields }) => fields['event'])
  assert.deepEqual(events(3), ['b', 'c', 'd'])
  assert.deepEqual(events(10), ['a', 'b', 'c', 'd'])
  assert.deepEqual(events(10, 'a'), ['a'])
})

test('no line is lost or repeated while the log is rotated, however often', (t) => {
  const directory = tempHome(t)
  mkdirSync(directory, { recursive: true })
  const reader = createLogReader(directory)
  const log = createLog({ level: 'info', pretty: false, file: { directory, maxBytes: 400 }, redactor: (text) => text })
  reader.tail({}, 0)
  const seen: unknown[] = []
  const written: unknown[] = []
  for (let round = 0; round < 60; round++) {
    // The file has place for about three lines, so that most reads see several rotations.
    for (let index = 0; index < round % 8; index++) {
      log.info({ event: 'numbered', number: written.length }, 'a line of the log')
      written.push(written.length)
    }
    seen.push(...reader.readNew({}).map(({ fields }) => fields['number']))
  }
  log.close()
  assert.deepEqual(seen, written)
  assert.ok(keptLogFiles > 1)
})

test('the end of a line that is written in two parts is awaited', (t) => {
  const directory = tempHome(t)
  const reader = createLogReader(directory)
  const file = logFilePath(directory, 0)
  reader.tail({}, 0)
  const text = line('half')
  writeFileSync(file, text.slice(0, 20))
  assert.deepEqual(reader.readNew({}), [])
  appendFileSync(file, `${text.slice(20)}\n`)
  assert.deepEqual(
    reader.readNew({}).map((each) => each.text),
    [text],
  )
  renameSync(file, logFilePath(directory, 1))
  assert.deepEqual(reader.readNew({}), [])
})
