import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { toJsonSchema } from '../../../src/agent/tools/support/json-schema.ts'
import { decodeArguments, parseArguments } from '../../../src/agent/tools/support/parse-arguments.ts'

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

test('obvious mistakes of type are mended', () => {
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

test('what is not obvious is refused, with what was expected and what was found', () => {
  assert.match(error('{"path": "x", "limit": "ten"}'), /limit: .*number.*, found "ten".*limit\?: integer/)
  assert.match(error('{"limit": 3}'), /path: .*found nothing.*Expected \{path: string/)
  assert.match(error('{"path": "x", "kind": "c"}'), /kind: .*found "c".*"a" \| "b"/)
  assert.match(error('{"path": "x", "items": [{"id": "1"}]}'), /items\.0\.done: /)
  assert.match(error('{"path": "x", "limit": 1.5}'), /limit/)
  assert.match(error('{"path": {"a": 1}}'), /found \{"a":1\}/)
})

test('unknown arguments are dropped with a warning, at every depth', () => {
  const parsed = parse(
    '{"path": "x", "colour": 1, "items": [{"id": "a", "done": true, "prio": 2}], "__proto__": {"x": 1}}',
  )
  assert.ok(parsed.ok)
  assert.deepEqual(parsed.args, { path: 'x', items: [{ id: 'a', done: true }] })
  assert.deepEqual(parsed.warnings, [
    'tool has no argument colour; it was ignored',
    'tool has no argument items.0.prio; it was ignored',
    'tool has no argument __proto__; it was ignored',
  ])
})

test('a misspelt name is told together with what is missing', () => {
  assert.match(error('{"file": "x"}'), /path: .*Unknown: file\./)
})

test('what is not one JSON object is refused with a message that says so', () => {
  assert.match(error('{"path": "x"'), /not valid JSON: .*one JSON object/)
  assert.match(error('[1]'), /must be one JSON object, not array/)
  assert.match(error('null'), /not null/)
  assert.match(error('"text"'), /not valid JSON/)
  assert.match(error(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`), /nested more than 64/)
  assert.match(error(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`), /nested more than 64/)
  assert.match(error(`{"path":"${'x'.repeat(5_000_000)}"}`), /too long/)
})

test('no arguments at all are an empty object', () => {
  assert.match(error(''), /path: /)
  assert.match(error('  \n'), /path: /)
})

test('an error never grows long and nothing makes it throw', () => {
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

test('the schema for the model says only what a model needs', () => {
  assert.deepEqual(toJsonSchema(z.object({ count: z.int().optional(), $schema: z.string() })), {
    type: 'object',
    properties: { count: { type: 'integer' }, $schema: { type: 'string' } },
    required: ['$schema'],
  })
})
