import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { createDisplay, type Display } from '../../../src/cli/kit/display.ts'
import type { ProcessEnvironment } from '../../../src/config/environment.ts'
import { formatDuration } from '../../../src/lib/duration.ts'
import { toSingleLine } from '../../../src/lib/visible-text.ts'

function shown(draw: (display: Display) => void, columns?: number, environment: ProcessEnvironment = {}): string {
  const output = new PassThrough({ encoding: 'utf8' })
  const stream = columns === undefined ? output : Object.assign(output, { isTTY: true as const, columns })
  draw(createDisplay(stream, environment))
  return String(output.read() ?? '')
}

const table = (display: Display) =>
  display.table(
    ['ID', 'STATE', 'TEXT'],
    [
      ['1', { text: 'timed out', tone: 'warn' }, 'a long text that does not fit into the line of this terminal'],
      ['200', '', 'tab\there'],
    ],
  )

test('a table has headings, colours and columns on a terminal, and fits its width', () => {
  assert.deepEqual(shown(table, 40).split('\n'), [
    '\u001b[2mID   STATE      TEXT\u001b[22m',
    '1    \u001b[33mtimed out\u001b[39m  a long text that does n…',
    '200             tab here',
    '',
  ])
})

test('without a terminal each row is one plain line that a script can split at two spaces', () => {
  assert.deepEqual(shown(table).split('\n'), [
    '1  timed out  a long text that does not fit into the line of this terminal',
    '200  -  tab here',
    '',
  ])
})

test('NO_COLOR and a dumb terminal disable colours', () => {
  for (const environment of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
    assert.ok(!shown(table, 40, environment).includes('\u001b'), JSON.stringify(environment))
  }
})

test('text from other people cannot send control sequences to the terminal', () => {
  const evil = 'a\u001b[2J\u001b]0;title\u0007b\u009bc\u202ed\r\ne'
  const text = shown((display) => display.table(['X'], [[evil], [{ text: evil, tone: 'dim' }]]), 80, { NO_COLOR: '1' })
  const visible = 'a\\u001b[2J\\u001b]0;title\\u0007b\\u009bc\\u202ed e'
  assert.equal(text, `X\n${visible}\n${visible}\n`)
  assert.equal(toSingleLine(evil), visible)
})

test('JSON keeps its meaning, with control characters escaped', () => {
  const value = { text: 'a\u001b\u009b\u202e' }
  const text = shown((display) => display.json(value))
  assert.deepEqual(JSON.parse(text), value)
  assert.match(text, /^[\n\x20-\x7e]*$/)
})

test('a time is shown in local time on a terminal and as ISO 8601 to scripts', () => {
  const at = new Date(2026, 0, 2, 3, 4, 5).getTime()
  assert.equal(
    shown((display) => display.line(display.formatTime(at)), 80),
    '2026-01-02 03:04\n',
  )
  assert.equal(
    shown((display) => display.line(display.formatTime(at))),
    `${new Date(at).toISOString()}\n`,
  )
})

test('a duration is shown in its two largest units', () => {
  const second = 1_000
  const hour = 3_600 * second
  const received = [9 * second, 90 * second, 2 * hour, 2 * hour + 180 * second, 50 * hour].map(formatDuration)
  assert.deepEqual(received, ['9 s', '1 min', '2 h', '2 h 3 min', '2 d 2 h'])
})
