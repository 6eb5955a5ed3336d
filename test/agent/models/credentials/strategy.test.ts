/**
 * Properties of the strategies by which the key of a turn is chosen.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Credential, healthy } from '../../../../src/agent/models/credentials/credential.ts'
import { chooseCredential, strategies } from '../../../../src/agent/models/credentials/strategy.ts'

function credential(id: string, priority: number, requestCount: number): Credential {
  const shown = {
    id,
    label: id,
    authType: 'api_key',
    source: 'manual',
    secret: `secret-of-${id}`,
    baseUrl: '',
  } as const
  return { ...shown, priority, requestCount, health: healthy }
}

/** Keys in the order of their priority, which of them rest, and what happened before. */
const situations = fc
  .array(fc.record({ uses: fc.nat(5), calls: fc.nat(3), rests: fc.boolean() }), { minLength: 1, maxLength: 8 })
  .chain((keys) =>
    fc.record({
      all: fc.constant(keys.map(({ uses }, at) => credential(`k${at}`, at, uses))),
      usable: fc.constant(keys.flatMap(({ uses, rests }, at) => (rests ? [] : [credential(`k${at}`, at, uses)]))),
      calls: fc.constant(keys.map((key) => key.calls)),
      // The key may have been removed meanwhile, or be none.
      previous: fc.constantFrom('', 'gone', ...keys.map((_, at) => `k${at}`)),
      random: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  )

type Situation = typeof situations extends fc.Arbitrary<infer Value> ? Value : never

function choose(strategy: (typeof strategies)[number], { all, usable, calls, previous, random }: Situation) {
  const order = all.map(({ id }) => id)
  const inUse = (id: string) => calls[order.indexOf(id)] ?? 0
  return chooseCredential(usable, { strategy, order, previous, inUse, random: () => random })?.id
}

test('each strategy chooses a usable key whenever there is one', () => {
  fc.assert(
    fc.property(fc.constantFrom(...strategies), situations, (strategy, situation) => {
      const chosen = choose(strategy, situation)
      const ids = situation.usable.map(({ id }) => id)
      assert.ok(ids.length === 0 ? chosen === undefined : ids.includes(chosen ?? ''))
    }),
  )
})

test('fill_first chooses the usable key with the highest priority, whatever happened before', () => {
  fc.assert(
    fc.property(situations, (situation) => assert.equal(choose('fill_first', situation), situation.usable[0]?.id)),
  )
})

test('round_robin passes over no usable key between the previous one and the next', () => {
  fc.assert(
    fc.property(situations, (situation) => {
      const order = situation.all.map(({ id }) => id)
      const from = order.indexOf(situation.previous) + 1
      const circle = [...order.slice(from), ...order.slice(0, from)]
      const usable = new Set(situation.usable.map(({ id }) => id))
      assert.equal(
        choose('round_robin', situation),
        circle.find((id) => usable.has(id)),
      )
    }),
  )
})

test('least_used chooses no key while another one has fewer turns and calls', () => {
  fc.assert(
    fc.property(situations, (situation) => {
      const chosen = choose('least_used', situation)
      const uses = (id: string) => {
        const at = situation.all.findIndex((one) => one.id === id)
        return (situation.all[at]?.requestCount ?? 0) + (situation.calls[at] ?? 0)
      }
      for (const { id } of situation.usable) assert.ok(chosen !== undefined && uses(chosen) <= uses(id))
    }),
  )
})

test('random can choose each usable key, and depends on nothing but the random number', () => {
  fc.assert(
    fc.property(situations, (situation) => {
      const { usable } = situation
      const chosen = usable.map((_, at) => choose('random', { ...situation, random: (at + 0.5) / usable.length }))
      assert.deepEqual(
        chosen,
        usable.map(({ id }) => id),
      )
      assert.equal(choose('random', situation), choose('random', { ...situation, previous: 'gone', calls: [] }))
    }),
  )
})
