/**
 * Tables in a font of fixed width.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { displayWidth, formatTable, tableWidth } from '../../src/lib/text-table.ts'

const style = { columnSeparator: ' | ', ruleCharacter: '-', ruleSeparator: '-+-' }

test('columns stand under each other, whatever the letters', () => {
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

test('a short row leaves its columns empty, a narrow column may be given room', () => {
  assert.deepEqual(formatTable([['a', 'b'], ['c']], ['center'], { ...style, minColumnWidth: 3 }), [
    ' a  | b',
    '----+----',
    ' c  |',
  ])
  assert.deepEqual(formatTable([], [], style), ['', ''])
})

test('how wide a table will be is known before it is drawn', () => {
  const rows = [
    ['Name', 'Größe'],
    ['日本語', '1'],
  ]
  const widest = Math.max(...formatTable(rows, [], style).map(displayWidth))
  assert.deepEqual([tableWidth(rows, style), widest, tableWidth([], style)], [14, 14, 0])
})

test('wide letters count as two, marks as none', () => {
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
