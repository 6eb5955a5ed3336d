import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deepCopy, deepEqual, frozenCopy, redactedCopy } from '../../src/middleware/copy.ts'

/** Plain data whose objects are ordinary ones. */
const data = fc.jsonValue({ maxDepth: 5 }).map((value): unknown => JSON.parse(JSON.stringify(value)))

test('a copy of plain data is equal and shares no object', () => {
  fc.assert(
    fc.property(data, (value) => {
      const copy = deepCopy(value)
      assert.deepEqual(copy, value)
      const parts = (of: unknown): object[] =>
        typeof of === 'object' && of !== null ? [of, ...Object.values(of).flatMap(parts)] : []
      const original = new Set(parts(value))
      assert.ok(parts(copy).every((part) => !original.has(part)))
      assert.ok(deepEqual(value, copy))
    }),
  )
})

test('any change of plain data is detected', () => {
  fc.assert(
    fc.property(data, data, (one, other) => {
      assert.equal(deepEqual({ one }, { one: other }), JSON.stringify(sorted(one)) === JSON.stringify(sorted(other)))
    }),
  )
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  )
}

test('values that are not plain data are shared', () => {
  const parts = { map: new Map(), date: new Date(0), bytes: new Uint8Array(2), run: () => undefined }
  const copy = deepCopy(parts)
  for (const [key, value] of Object.entries(parts)) assert.equal(Reflect.get(copy, key), value)
  assert.equal(deepEqual(parts, copy), true)
  assert.equal(deepEqual({ map: new Map() }, { map: new Map() }), false)
  assert.equal(
    deepEqual({ constructor: Object }, { other: Object }),
    false,
    'what every object inherits is no key of its own',
  )
  assert.equal(deepEqual({ one: undefined }, { other: undefined }), false)
})

test('cycles are copied as cycles, and very deep data is copied', () => {
  const circle: { self?: unknown; name: string } = { name: 'a' }
  circle.self = circle
  const copy = deepCopy(circle)
  assert.notEqual(copy, circle)
  assert.equal(copy.self, copy)
  assert.equal(frozenCopy(circle).name, 'a')
  assert.equal(deepEqual(circle, copy), false)
  let deep: { inner?: unknown } = {}
  for (let depth = 0; depth < 1_000; depth++) deep = { inner: deep }
  assert.deepEqual(deepCopy(deep), deep)
})

test('a getter that throws hides its value from observers, and rewriters get the original instead of a copy', () => {
  const broken = Object.defineProperty({}, 'x', {
    enumerable: true,
    get() {
      throw new Error('no')
    },
  })
  assert.equal(deepCopy(broken), broken)
  assert.equal(redactedCopy(broken), null)
})

test('a key called __proto__ is a key like any other', () => {
  const value = JSON.parse('{"__proto__": {"admin": true}}')
  const copy = deepCopy(value)
  assert.deepEqual(Object.keys(copy), ['__proto__'])
  assert.equal(Object.getPrototypeOf(copy), Object.prototype)
  assert.equal(Reflect.get(copy, 'admin'), undefined)
})

test('a frozen copy cannot be changed at any depth, and the original can', () => {
  const value = { list: [{ a: 1 }] }
  const frozen = frozenCopy(value)
  assert.throws(() => frozen.list.push({ a: 2 }), TypeError)
  assert.throws(() => Object.assign(frozen.list[0] ?? {}, { a: 2 }), TypeError)
  value.list.push({ a: 3 })
  assert.equal(frozen.list.length, 1)
})

test('observers receive no credential headers, also in cycles and at depth', () => {
  const circle: Record<string, unknown> = { Cookie: 'a', cooking: 'b', headers: { AUTHORIZATION: 'x', accept: 'y' } }
  circle['self'] = circle
  const copy = Object(redactedCopy(circle))
  assert.deepEqual(Object.keys(copy).sort(), ['cooking', 'headers', 'self'])
  assert.deepEqual(copy.headers, { accept: 'y' })
  assert.equal(copy.self, copy)
})
