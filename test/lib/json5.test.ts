/**
 * JSON5 is read as its specification says, and what is not JSON5 is rejected with its place.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Json5Error, parseJson5 } from '../../src/lib/json5.ts'

test('comments, trailing commas, plain keys, quotes and numbers of JSON5 are read', () => {
  const text = `// first
{
  plain: 'it\\'s', "quoted": "a \\u00e9 \\x41 \\
b", $_1: [1, .5, 5., 0x1F, +2, -3e2, /* inner */ Infinity,],
  'nested': {deep: {er: null}}, __proto__: 'a key', true: false,
} // last`
  const value = parseJson5(text)
  assert.equal(
    JSON.stringify(value),
    '{"plain":"it\'s","quoted":"a é A b","$_1":[1,0.5,5,31,2,-300,null],"nested":{"deep":{"er":null}},"__proto__":"a key","true":false}',
  )
  assert.equal(Object.getPrototypeOf(value), Object.prototype)
  for (const json of ['{"a":[1,2,{"b":"c\\n"}]}', '[]', '"x"', '-0.5e3', 'null'])
    assert.deepEqual(parseJson5(json), JSON.parse(json))
})

test('a long id without quotes stays exact', () => {
  assert.deepEqual(parseJson5('[123456789012345678, -1001234567890, 12]'), [
    '123456789012345678',
    -1_001_234_567_890,
    12,
  ])
})

test('text that is not JSON5 is rejected with line and column', () => {
  const bad = [
    '',
    '{',
    '{a}',
    '{a: }',
    '[1 2]',
    '{a: 1}}',
    '"open',
    "'a\nb'",
    '{a: undefined}',
    '"\\u12"',
    '/* open',
    '['.repeat(200),
  ]
  for (const text of bad) assert.throws(() => parseJson5(text), Json5Error, JSON.stringify(text))
  assert.throws(() => parseJson5('{\n  a: ?\n}'), /line 2, column 6/)
})

test('long white space, comments and lists do not exhaust the stack', () => {
  const long = `${' '.repeat(2e5)}${'/**/'.repeat(1e5)}[${'1,'.repeat(1e5)}]`
  const value = parseJson5(long)
  assert.ok(Array.isArray(value) && value.length === 1e5)
})
