/**
 * Tables in a monospaced font.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { displayWidth, formatTable, tableWidth } from '../../src/lib/text-table.ts'

const style = { columnSeparator: ' | ', ruleCharacter: '-', ruleSeparator: '-+-' }

test('columns are aligned for wide, combining and narrow characters', () => {
  const rows = [
    ['Name', 'Größe'],
    ['日本', '1'],
    ['e\u0301te\u0301', '22'],
  ]
  assert.deepEqual(formatTable(rows, [null, 'right'], style), [
    'Name | Größe',
    '-----+------',
    '日本 |     1',
    'e\u0301te\u0301  |    22',
  ])
})

test('a short row leaves columns empty, and a column can have a minimum width', () => {
  assert.deepEqual(formatTable([['a', 'b'], ['c']], ['center'], { ...style, minColumnWidth: 3 }), [
    ' a  | b',
    '----+----',
    ' c  |',
  ])
  assert.deepEqual(formatTable([], [], style), ['', ''])
})

test('the width of a table is known before it is formatted', () => {
  const rows = [
    ['Name', 'Größe'],
    ['日本語', '1'],
  ]
  const widest = Math.max(...formatTable(rows, [], style).map(displayWidth))
  assert.deepEqual([tableWidth(rows, style), widest, tableWidth([], style)], [14, 14, 0])
})

test('wide characters count as two columns, combining marks as none', () => {
  for (const [text, width] of [
    ['plain', 5],
    ['日本', 4],
    ['한국', 4],
    ['e\u0301👍', 3],
    ['⚡', 2],
    ['a\u200Db', 2],
    ['', 0],
  ] as const) {
    assert.equal(displayWidth(text), width, text)
  }
})
