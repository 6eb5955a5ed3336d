import assert from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import { readShape } from '../../src/lib/read-shape.ts'

const shape = z.strictObject({
  name: z.string().max(5).optional(),
  many: z.number().min(1).optional(),
  kind: z.enum(['a', 'b']).optional(),
  list: z.union([z.string(), z.array(z.string())]).optional(),
  id: z.string().regex(/^\w+$/, 'must have letters only').optional(),
  form: z
    .discriminatedUnion('kind', [z.object({ kind: z.literal('x') }), z.object({ kind: z.literal('y') })])
    .optional(),
})

const problems: readonly [unknown, string][] = [
  ['text', 'the request: expected an object'],
  [{ name: 1 }, 'name: expected text'],
  [{ name: 'longer' }, 'name: expected at most 5 characters'],
  [{ many: 0 }, 'many: expected at least 1'],
  [{ kind: 'c' }, 'kind: expected one of "a", "b"'],
  [{ list: 1 }, 'list: expected text, or expected a list'],
  [{ list: ['x', 1] }, 'list: expected text'],
  [{ id: '!' }, 'id: must have letters only'],
  [{ form: { kind: 'z' } }, 'form.kind: expected one of "x", "y"'],
  [{ other: 1 }, 'the request: there is no "other"'],
]
for (const [value, problem] of problems) {
  it(`${JSON.stringify(value)} is refused in plain words`, () => {
    assert.deepEqual(readShape(shape, value, 'the request'), { ok: false, problem })
  })
}

it('a value that fits is given on', () => {
  assert.deepEqual(readShape(shape, { name: 'x' }, 'the request'), { ok: true, value: { name: 'x' } })
})
