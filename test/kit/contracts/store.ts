/**
 * What every store promises, whatever lies below it. A new kind of store calls this with a way to build one.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { isHermesError } from '../../../src/lib/errors.ts'
import { beginEpoch, checkFence, type EpochOptions, startNewSession } from '../../../src/sessions/session-state.ts'
import { exec, query, row, type Transaction } from '../../../src/store/query.ts'
import type { Store } from '../../../src/store/store.ts'

/** The same data seen by two connections; both are closed when the test ends. */
export interface StorePair {
  readonly store: Store
  /** Another connection to the same data, made when it is asked for. */
  another(): Store
}

/** Any table would do; this one has a name and a value. */
const owner = { platform: 'contract', account: 'contract' }

const put = query((db, p: { name: string; value: string }) =>
  db
    .insertInto('marks')
    .values({ ...owner, place: p.name, last_id: p.value, updated_at: 0 })
    .onConflict((conflict) => conflict.columns(['platform', 'account', 'place']).doUpdateSet({ last_id: p.value })),
)
const add = query((db, p: { name: string; value: string }) =>
  db.insertInto('marks').values({ ...owner, place: p.name, last_id: p.value, updated_at: 0 }),
)
const find = query((db, p: { name: string }) =>
  db
    .selectFrom('marks')
    .select('last_id')
    .where('platform', '=', 'contract')
    .where('account', '=', 'contract')
    .where('place', '=', p.name),
)

export function* write(name: string, value: string): Transaction<void> {
  yield* exec(put, { name, value })
}

export function* read(name: string): Transaction<string | undefined> {
  return (yield* row(find, { name }))?.last_id
}

/** Fails when the name is taken. */
function* create(name: string, value: string): Transaction<void> {
  yield* exec(add, { name, value })
}

function* increment(name: string): Transaction<number> {
  const next = Number((yield* read(name)) ?? 0) + 1
  yield* write(name, String(next))
  return next
}

export function storeContract(kind: string, open: (t: TestContext) => StorePair): void {
  const promise = (text: string, check: (pair: StorePair) => Promise<void>) =>
    test(`${kind}: ${text}`, (t) => check(open(t)))

  promise('a transaction sees its own writes, and its return value is the result', async ({ store }) => {
    const seen = await store.run(function* () {
      yield* write('a', 'one')
      const before = yield* read('a')
      yield* write('a', 'two')
      return [before, yield* read('a'), yield* read('never written')]
    })
    assert.deepEqual(seen, ['one', 'two', undefined])
  })

  promise('a transaction that throws is rolled back and rejects with that error', async ({ store }) => {
    const failure = new Error('no')
    await assert.rejects(
      store.run(function* () {
        yield* write('a', 'half')
        throw failure
      }),
      (error) => error === failure,
    )
    assert.equal(await store.run(() => read('a')), undefined)
  })

  promise('a statement that fails rolls back its transaction', async ({ store }) => {
    await store.run(() => create('taken', 'first'))
    await assert.rejects(
      store.run(function* () {
        yield* write('a', 'half')
        yield* create('taken', 'second')
      }),
      (error) => isHermesError(error, 'store/failed') && error.cause instanceof Error,
    )
    assert.equal(await store.run(() => read('a')), undefined)
    assert.equal(await store.run(() => read('taken')), 'first')
  })

  promise('a failing transaction does not affect others of its batch', async ({ store }) => {
    await store.run(() => create('taken', 'first'))
    const results = await Promise.allSettled(
      Array.from({ length: 9 }, (_, place) =>
        store.run(function* () {
          yield* write(`group ${place}`, 'written')
          if (place % 3 === 1) throw new Error(`failure ${place}`)
          if (place % 3 === 2) yield* create('taken', 'again')
          return place
        }),
      ),
    )
    assert.deepEqual(
      results.map(({ status }) => status === 'fulfilled'),
      [true, false, false, true, false, false, true, false, false],
    )
    for (const place of results.keys()) {
      assert.equal(await store.run(() => read(`group ${place}`)), place % 3 === 0 ? 'written' : undefined)
    }
  })

  promise('a result means that the transaction is committed', async ({ store, another }) => {
    const other = another()
    await Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        await store.run(() => write(name, 'done'))
        assert.equal(await other.run(() => read(name)), 'done')
      }),
    )
  })

  promise('concurrent transactions run one after the other, in the order of the calls', async ({ store }) => {
    const numbers = Array.from({ length: 400 }, () => store.run(() => increment('count')))
    assert.deepEqual(
      await Promise.all(numbers),
      Array.from({ length: 400 }, (_, index) => index + 1),
    )
  })

  promise('two connections that write at the same time lose nothing', async ({ store, another }) => {
    const other = another()
    await Promise.all(
      Array.from({ length: 100 }, (_, turn) => (turn % 2 === 0 ? store : other).run(() => increment('count'))),
    )
    assert.equal(await store.run(() => read('count')), '100')
  })

  promise('any text is read as it was written', async ({ store }) => {
    const texts = ['', ' ', "'; drop table lanes; --", 'a\0b', '😀 žluťoučký 漢字 \u202e', 'x'.repeat(200_000)]
    for (const text of texts) {
      await store.run(() => write('text', text))
      assert.equal(await store.run(() => read('text')), text)
    }
  })

  promise('a lone surrogate becomes a replacement character, and the rest of the text is kept', async (pair) => {
    await pair.store.run(() => write('text', 'before \ud83d after'))
    assert.match((await pair.store.run(() => read('text'))) ?? '', /^before \ufffd+ after$/)
  })

  promise('a missing parameter is an error, never null', async ({ store }) => {
    const holed = query((db, p: { name: string; value?: string }) =>
      db.insertInto('marks').values({ ...owner, place: p.name, last_id: p.value ?? '', updated_at: 0 }),
    )
    await assert.rejects(
      store.run(() => exec(holed, { name: 'a' })),
      { name: 'TypeError', message: /"value"/ },
    )
    assert.equal(await store.run(() => read('a')), undefined)
  })

  promise('closing waits for queued transactions, can be called twice, and rejects later ones', async (pair) => {
    const { store, another } = pair
    const queued = Promise.all(Array.from({ length: 300 }, () => store.run(() => increment('count'))))
    let finished = false
    void queued.then(() => {
      finished = true
    })
    const closed = [store.close(), store.close()]
    await assert.rejects(store.run(() => read('count')))
    await closed[1]
    assert.equal(finished, true)
    await Promise.all(closed)
    await store.close()
    assert.equal(await another().run(() => read('count')), '300')
  })

  promise('a turn of an earlier epoch cannot write', async ({ store }) => {
    const fenceOf = (epoch: number) => ({ sessionKey: exampleEpoch.key, epoch })
    const guarded = (epoch: number, value: string) =>
      store.run(function* () {
        yield* write('guarded', value)
        yield* checkFence(fenceOf(epoch))
      })
    const first = await store.run(() => beginEpoch(exampleEpoch))
    await guarded(first.epoch, 'first')
    const second = await store.run(() => beginEpoch(exampleEpoch))
    assert.ok(second.epoch > first.epoch)
    assert.equal(second.session_id, first.session_id)
    await assert.rejects(guarded(first.epoch, 'late'), (error) => isHermesError(error, 'store/fenced'))
    await guarded(second.epoch, 'second')
    await store.run(() => startNewSession({ ...exampleEpoch, newSessionId: 'another' }, ''))
    await assert.rejects(guarded(second.epoch, 'late'), (error) => isHermesError(error, 'store/fenced'))
    await assert.rejects(
      store.run(() => checkFence({ sessionKey: 'never seen', epoch: 0 })),
      (error) => isHermesError(error, 'store/fenced'),
    )
    assert.equal(await store.run(() => read('guarded')), 'second')
  })
}

const exampleEpoch: EpochOptions = {
  key: 'agent:main:web:dm:1',
  source: '{}',
  platform: 'web',
  userId: 'ada',
  newSessionId: 'one',
  now: 1_000,
}
