import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { decodeArguments, parseArguments, toJsonSchema } from '../../../src/agent/support/parse-arguments.ts'

const schema = z.object({
  path: z.string(),
  limit: z.int().min(1).optional(),
  ratio: z.number().optional(),
  deep: z.boolean().optional(),
  kind: z.enum(['a', 'b']).optional(),
  items: z.array(z.object({ id: z.string(), done: z.boolean() })).optional(),
})

const parse = (text: string) => {
  const decoded = decodeArguments('tool', text)
  return decoded.ok ? parseArguments('tool', decoded.value, schema, toJsonSchema(schema)) : decoded
}
const args = (value: unknown) => {
  const parsed = parse(JSON.stringify(value))
  return parsed.ok ? parsed.args : parsed.error
}
const error = (text: string) => {
  const parsed = parse(text)
  return parsed.ok ? '' : parsed.error
}
const code = (text: string) => {
  const parsed = parse(text)
  return parsed.ok ? undefined : parsed.code
}

test('obvious type mistakes are converted', () => {
  assert.deepEqual(args({ path: 5, limit: '10', ratio: ' -1.5 ', deep: 'True' }), {
    path: '5',
    limit: 10,
    ratio: -1.5,
    deep: true,
  })
  assert.deepEqual(args({ path: 'x', items: '[{"id": 1, "done": "false"}]' }), {
    path: 'x',
    items: [{ id: '1', done: false }],
  })
  assert.deepEqual(args({ path: 'x', limit: null, kind: null }), { path: 'x' })
  assert.deepEqual(args(JSON.stringify({ path: 'x' })), { path: 'x' })
})

test('other mistakes are rejected with the expected and the actual value', () => {
  assert.match(error('{"path": "x", "limit": "ten"}'), /limit: .*number.* "ten".*limit\?: integer/)
  assert.match(error('{"limit": 3}'), /path: .*\{path: string/)
  assert.match(error('{"path": "x", "kind": "c"}'), /kind: .* "c".*"a" \| "b"/)
  assert.match(error('{"path": "x", "items": [{"id": "1"}]}'), /items\.0\.done: /)
  assert.match(error('{"path": "x", "limit": 1.5}'), /limit/)
  assert.match(error('{"path": {"a": 1}}'), / \{"a":1\}/)
  assert.equal(code('{"path": "x", "limit": "ten"}'), 'invalid_arguments')
})

test('unknown arguments are dropped with a warning at every depth', () => {
  const parsed = parse(
    '{"path": "x", "colour": 1, "items": [{"id": "a", "done": true, "prio": 2}], "__proto__": {"x": 1}}',
  )
  assert.ok(parsed.ok)
  assert.deepEqual(parsed.args, { path: 'x', items: [{ id: 'a', done: true }] })
  for (const [index, key] of ['colour', 'items.0.prio', '__proto__'].entries()) {
    assert.ok(parsed.warnings[index]?.includes(key))
  }
  assert.equal(parsed.warnings.length, 3)
})

test('the error for a missing argument contains unknown names, which may be misspelt', () => {
  assert.match(error('{"file": "x"}'), /path: .*\bfile\b/)
})

test('a text that is not one JSON object is rejected with the reason', () => {
  assert.equal(code('{"path": "x"'), 'invalid_json')
  assert.equal(code('"text"'), 'invalid_json')
  for (const [text, type] of [
    ['[1]', 'array'],
    ['null', 'null'],
  ] as const) {
    assert.equal(code(text), 'not_an_object')
    assert.match(error(text), new RegExp(`\\b${type}\\b`))
  }
  for (const text of [
    `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`,
    `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`,
  ]) {
    assert.equal(code(text), 'too_deep')
    assert.match(error(text), /\b64\b/)
  }
  assert.equal(code(`{"path":"${'x'.repeat(5_000_000)}"}`), 'too_long')
})

test('an empty text is an empty object', () => {
  assert.match(error(''), /path: /)
  assert.match(error('  \n'), /path: /)
})

test('an error has a bounded length and no text makes the parser throw', () => {
  const many = JSON.stringify({ items: Array.from({ length: 500 }, () => ({ id: 'x'.repeat(500) })) })
  assert.ok(error(many).length <= 2_000)
  fc.assert(
    fc.property(fc.json(), (text) => {
      parse(text)
    }),
  )
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('path', 'limit', 'deep', 'items', 'x'), fc.jsonValue()), (value) => {
      parse(JSON.stringify(value))
    }),
  )
})

test('the schema contains only what a model needs', () => {
  assert.deepEqual(toJsonSchema(z.object({ count: z.int().optional(), $schema: z.string() })), {
    type: 'object',
    properties: { count: { type: 'integer' }, $schema: { type: 'string' } },
    required: ['$schema'],
  })
})
