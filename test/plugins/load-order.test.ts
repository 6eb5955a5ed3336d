/**
 * The order in which plugins are loaded.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { loadOrder } from '../../src/plugins/load-order.ts'

const plugin = (id: string, ...requires: string[]) => ({ id, requires: requires.map((name) => ({ id: name })) })
const order = (...plugins: ReturnType<typeof plugin>[]) => {
  const { order: ordered, cycle } = loadOrder(plugins)
  return [ordered.map(({ id }) => id).join(' '), cycle.join(' ')]
}

test('plugins are loaded after their requirements, otherwise in alphabetical order', () => {
  assert.deepEqual(order(plugin('c'), plugin('b', 'z'), plugin('a'), plugin('z')), ['a c z b', ''])
  assert.deepEqual(order(plugin('a', 'z'), plugin('x/z', 'c'), plugin('c')), ['c x/z a', ''])
})

test('requirements that are not installed do not affect the order', () => {
  assert.deepEqual(order(plugin('b', 'nowhere'), plugin('a', 'b')), ['b a', ''])
})

test('plugins of a dependency cycle are loaded alphabetically and reported', () => {
  assert.deepEqual(order(plugin('d'), plugin('c', 'a'), plugin('b', 'c'), plugin('a', 'b')), ['a b c d', 'a b c'])
  assert.deepEqual(order(plugin('b', 'a'), plugin('a', 'c'), plugin('c', 'a')), ['a b c', 'a c'])
  assert.deepEqual(order(plugin('a', 'a'), plugin('b')), ['a b', ''])
})

test('every plugin is loaded once, and after its requirements unless there is a cycle', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const graphs = fc.array(fc.subarray(names), { minLength: 6, maxLength: 6 })
  fc.assert(
    fc.property(graphs, (requires) => {
      const plugins = names.map((id, index) => plugin(id, ...(requires[index] ?? [])))
      const { order: ordered, cycle } = loadOrder(plugins)
      assert.deepEqual(ordered.map(({ id }) => id).toSorted(), names)
      if (cycle.length > 0) return
      const position = new Map(ordered.map(({ id }, index) => [id, index]))
      for (const { id, requires: needs } of ordered)
        for (const need of needs) if (need.id !== id) assert.ok((position.get(need.id) ?? 9) < (position.get(id) ?? -1))
    }),
  )
})
