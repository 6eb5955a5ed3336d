/**
 * What follows a transaction: each of its parts learns once how it has ended.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { abandon } from '../../src/store/commit.ts'
import { afterCommit, combine, enlist, type TransactionPart } from '../../src/store/query.ts'
import { openReader } from '../../src/store/sqlite/reader.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Retry } from '../../src/store/store.ts'
import { read, write } from '../kit/contracts/store.ts'
import { openStore } from '../kit/open-store.ts'
import { wrapStore } from '../kit/wrapped-store.ts'

const clock = () => 7

interface NamedPart extends TransactionPart<string> {
  readonly rolledBack: () => void
}

function openParts() {
  const seen: string[] = []
  /** @param work runs within the part, after its own row is written */
  function part(name: string, work: TransactionPart['write'] = () => write(name, 'more')): NamedPart {
    return {
      *write(now) {
        yield* write(name, String(now))
        yield* work(now)
        return `result of ${name}`
      },
      committed: (result) => void seen.push(`${name}: ${result}`),
      rolledBack: () => void seen.push(`${name}: rolled back`),
    }
  }
  return { seen, part }
}

// biome-ignore lint/correctness/useYield: a transaction without a query
function* fail(): Generator<never, never> {
  throw new Error('no')
}

test('a part learns the result of its write when everyone can read what it has written', async (t) => {
  const { store, path } = openStore(t)
  const other = createSqliteStore({ path })
  t.after(() => other.close())
  const reading: Promise<string | undefined>[] = []
  const part: TransactionPart<string> = {
    *write(now) {
      yield* write('a', String(now))
      return 'written'
    },
    committed(result) {
      assert.equal(result, 'written')
      reading.push(other.run(() => read('a')))
    },
    rolledBack: () => assert.fail('it was committed'),
  }
  assert.equal(await store.commit(part, clock), 'written')
  assert.deepEqual(await Promise.all(reading), ['7'])
})

test('the parts of a transaction are told of its commit in the order in which they ended', async (t) => {
  const { store } = openStore(t)
  const { seen, part } = openParts()
  const first = part('first')
  await store.run(function* () {
    yield* afterCommit(() => seen.push('before'))
    yield* enlist(
      part('outer', function* (now) {
        yield* enlist(combine([{ write: () => write('silent', '') }]), now)
        assert.equal(yield* enlist(first, now), 'result of first')
        yield* afterCommit(() => seen.push('within'))
      }),
      1,
    )
    yield* afterCommit(() => seen.push('after'))
    assert.deepEqual(seen, [], 'nothing is told within the transaction')
  })
  assert.deepEqual(seen, ['before', 'first: result of first', 'within', 'outer: result of outer', 'after'])
})

test('a transaction that fails rolls back what it has begun, the newest part first, and tells of no commit', async (t) => {
  const { store } = openStore(t)
  const { seen, part } = openParts()
  const failing = store.run(function* () {
    yield* enlist(part('a'), 1)
    yield* afterCommit(() => seen.push('committed'))
    yield* enlist(part('b', fail), 1)
  })
  await assert.rejects(failing, /no/)
  assert.deepEqual(seen, ['b: rolled back', 'a: rolled back'])
  assert.equal(await store.run(() => read('a')), undefined)
})

test('a transaction that cannot begin rolls back the parts that are known', async (t) => {
  const { store } = openStore(t)
  const { seen, part } = openParts()
  await store.close()
  const inner = part('inner')
  const whole = { ...part('whole', () => fail()), parts: [{ parts: [inner] }, inner] }
  await assert.rejects(store.commit(whole, clock))
  assert.deepEqual(seen, ['inner: rolled back', 'whole: rolled back'])
})

test('one transaction that fails does not roll back the parts of those that are committed with it', async (t) => {
  const { store } = openStore(t)
  const { seen, part } = openParts()
  await Promise.allSettled([
    store.commit(part('a'), clock),
    store.commit(part('b', fail), clock),
    store.commit(part('c'), clock),
  ])
  assert.deepEqual(seen.toSorted(), ['a: result of a', 'b: rolled back', 'c: result of c'])
})

test('between two tries no part is told anything, and a part of an earlier try is rolled back', async (t) => {
  const { store } = openStore(t)
  const { seen, part } = openParts()
  let tries = 0
  const always = part('always')
  const whole = part('whole', function* (now) {
    tries += 1
    yield* enlist(always, now)
    yield* enlist(part(`only in try ${tries}`), now)
    if (tries < 3) yield* fail()
  })
  const failures: number[] = []
  const retry: Retry = async (error, count) => {
    assert.match(String(error), /no/)
    failures.push(count)
    assert.deepEqual(seen, [])
  }
  assert.equal(await store.commit(whole, () => tries, retry), 'result of whole')
  assert.deepEqual(failures, [1, 2])
  assert.deepEqual(seen, [
    'only in try 2: rolled back',
    'only in try 1: rolled back',
    'always: result of always',
    'only in try 3: result of only in try 3',
    'whole: result of whole',
  ])
  assert.equal(await store.run(() => read('only in try 1')), undefined)
})

test('a transaction that is given up after some tries is rolled back once', async (t) => {
  const { store } = openStore(t)
  const { seen, part } = openParts()
  const giveUp: Retry = async (_, failures) => {
    if (failures === 3) throw new Error('given up')
  }
  await assert.rejects(store.commit(part('a', fail), clock, giveUp), /given up/)
  assert.deepEqual(seen, ['a: rolled back'])
})

test('an error of what follows the commit is reported, and changes neither the rows nor what the others learn', async (t) => {
  const { path } = openStore(t)
  const errors: string[] = []
  const store = createSqliteStore({ path, onPartError: (error) => void errors.push(String(error)) })
  t.after(() => store.close())
  const { seen, part } = openParts()
  const broken = (name: string, work?: TransactionPart['write']) => ({
    ...part(name, work),
    committed: () => assert.fail('broken'),
    rolledBack: () => assert.fail('broken too'),
  })
  const whole = part('whole', (now) => combine([{ ...broken('a'), write: () => write('a', 'stored') }]).write(now))
  assert.equal(await store.commit(whole, clock), 'result of whole')
  assert.deepEqual(seen.splice(0), ['whole: result of whole'])
  assert.equal(await store.run(() => read('a')), 'stored')
  const failing = part('failing', (now) => combine([{ ...broken('b'), write: fail }]).write(now))
  await assert.rejects(store.commit(failing, clock), /no/)
  assert.deepEqual(seen, ['failing: rolled back'])
  assert.deepEqual(errors, ['AssertionError [ERR_ASSERTION]: broken', 'AssertionError [ERR_ASSERTION]: broken too'])
})

test('a part that no transaction will write is rolled back with those that it knows', () => {
  const { seen, part } = openParts()
  abandon({ ...part('a'), parts: [part('b'), part('c')] })
  assert.deepEqual(seen, ['b: rolled back', 'c: rolled back', 'a: rolled back'])
})

test('a transaction that only reads has no parts, because nothing of it is committed', (t) => {
  const { path } = openStore(t)
  const reader = openReader(path)
  t.after(() => reader.close())
  assert.throws(() => reader.run(() => afterCommit(() => undefined)), /only read/)
})

interface Node {
  /** The same part in each try; otherwise one of its own. */
  readonly isFixed: boolean
  readonly children: readonly Node[]
}

const { tree } = fc.letrec<{ tree: Node }>((tie) => ({
  tree: fc.record<Node>({
    isFixed: fc.boolean(),
    children: fc.oneof({ depthSize: 'small' }, fc.constant([]), fc.array(tie('tree'), { maxLength: 3 })),
  }),
}))

/** For each try, after how many parts it fails; null: it does not. */
const plan = fc.array(fc.option(fc.nat({ max: 8 })), { minLength: 1, maxLength: 4 })

test('each part of a transaction is told of one end, whatever the tries, and in the order of the last one', async (t) => {
  const { store } = openStore(t)
  let runs = 0
  await fc.assert(
    fc.asyncProperty(tree, plan, async (root, tries) => {
      runs += 1
      const told = new Map<string, string[]>()
      const order: string[] = []
      const fixed = new Map<Node, TransactionPart>()
      let attempt = 0
      let left = 0
      let count = 0
      let ended: string[] = []
      let isOver = false

      function partOf(node: Node): TransactionPart {
        const known = fixed.get(node)
        if (known !== undefined) return known
        const name = `${runs}.${count++}`
        const tell = (end: string) => {
          assert.ok(isOver, 'told within a try')
          told.get(name)?.push(end)
          order.push(`${end} ${name}`)
        }
        const part: TransactionPart = {
          *write() {
            if (!told.has(name)) told.set(name, [])
            for (const child of node.children) yield* enlist(partOf(child), 0)
            if (left-- === 0) throw new Error('planned')
            yield* write(name, `try ${attempt}`)
            ended.push(name)
          },
          committed: () => tell('committed'),
          rolledBack: () => tell('rolled back'),
        }
        if (node.isFixed) fixed.set(node, part)
        return part
      }

      const whole: TransactionPart = {
        *write(now) {
          left = tries[attempt] ?? Number.POSITIVE_INFINITY
          attempt += 1
          ended = []
          yield* enlist(partOf(root), now)
          yield* afterCommit(() => order.push('end'))
        },
        committed: () => void order.push('whole'),
      }
      const stored = wrapStore(store, {
        async around(run) {
          try {
            const result = await run()
            isOver = true
            return result
          } catch (error) {
            isOver = attempt >= tries.length
            throw error
          }
        },
      })
      const isStored = await stored
        .commit(whole, clock, async (error) => {
          if (attempt >= tries.length) throw error
        })
        .then(
          () => true,
          () => false,
        )
      const written = isStored ? ended : []
      for (const [name, ends] of told)
        assert.deepEqual(ends, [written.includes(name) ? 'committed' : 'rolled back'], name)
      const committed = order.filter((line) => !line.startsWith('rolled back'))
      assert.deepEqual(committed, isStored ? [...written.map((name) => `committed ${name}`), 'end', 'whole'] : [])
      for (const name of told.keys())
        assert.equal(await store.run(() => read(name)), written.includes(name) ? `try ${attempt}` : undefined)
    }),
    { numRuns: 150 },
  )
})
