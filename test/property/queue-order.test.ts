import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { createEmbeddedEngine } from '../../src/engine/embedded-engine.ts'
import { acceptEvent, claimEvent, findQueueHead, finishEvent } from '../../src/inbox/queries.ts'
import { brand } from '../../src/lib/ids.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { SessionKey } from '../../src/message/ids.ts'
import { createSqliteStore } from '../../src/store/sqlite/store.ts'
import type { Store } from '../../src/store/store.ts'
import { workersOf } from '../kit/contracts/engine.ts'
import { tempHome } from '../kit/temp-home.ts'

interface Message {
  readonly session: number
  readonly lane: 'turn' | 'control'
  /** Duration of its processing, in turns of the event loop. */
  readonly takes: number
  /** Number of failures before it succeeds. */
  readonly fails: number
  /** Delay before the next message, in turns of the event loop. */
  readonly gap: number
}

const messages = fc.array(
  fc.record<Message>({
    session: fc.nat({ max: 3 }),
    lane: fc.constantFrom('turn', 'turn', 'turn', 'control'),
    takes: fc.nat({ max: 3 }),
    fails: fc.constantFrom(0, 0, 0, 1, 2),
    gap: fc.nat({ max: 2 }),
  }),
  { minLength: 1, maxLength: 24 },
)

async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}

const outcome = {
  status: 'done',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
} as const

function openLanesOf(t: TestContext, store: Store, sent: readonly Message[], concurrency: number) {
  const done = new Map<string, number[]>()
  const failures = new Map<number, number>()
  const atWork = new Set<string>()
  let turnsAtWork = 0
  let mostTurns = 0

  const workers = workersOf(async (key, lane) => {
    const name = `${key} ${lane}`
    assert.ok(!atWork.has(name), 'two workers of one queue')
    atWork.add(name)
    if (lane === 'turn') turnsAtWork += 1
    mostTurns = Math.max(mostTurns, turnsAtWork)
    try {
      for (;;) {
        const head = await store.run(function* () {
          const found = yield* findQueueHead(key, lane)
          if (found !== undefined) yield* claimEvent(found.seq, null)
          return found
        })
        if (head === undefined) return
        const index = Number(head.payload)
        await loopTurns(sent[index]?.takes ?? 0)
        const failed = failures.get(index) ?? 0
        failures.set(index, failed + 1)
        if (failed < (sent[index]?.fails ?? 0)) throw new Error('not yet')
        await store.run(() => finishEvent(head.seq, outcome))
        done.set(name, [...(done.get(name) ?? []), index])
      }
    } finally {
      atWork.delete(name)
      if (lane === 'turn') turnsAtWork -= 1
    }
  })
  const engine = createEmbeddedEngine({
    log: silentLog,
    random: () => 0,
    settings: () => ({ agent: { max_concurrent_turns: concurrency } }),
  })
  engine.start(workers)
  t.after(() => engine.stop(0))
  return { engine, done, mostTurns: () => mostTurns }
}

test('each message of each queue is processed once and in order, although some are slow or fail', async (t) => {
  const home = tempHome(t)
  let run = 0
  await fc.assert(
    fc.asyncProperty(messages, fc.integer({ min: 1, max: 4 }), async (sent, concurrency) => {
      const store = createSqliteStore({ path: join(home, `${run++}.db`) })
      const { engine, done, mostTurns } = openLanesOf(t, store, sent, concurrency)
      for (const [index, { session, lane, gap }] of sent.entries()) {
        const key = brand<SessionKey>(`s${session}`)
        const row = {
          sessionKey: key,
          lane,
          kind: 'text',
          platform: 'web',
          account: '',
          chatId: '',
          payload: `${index}`,
        }
        void store.run(() => acceptEvent(row, [`k${index}`], index)).then(() => engine.wake(key, lane))
        await loopTurns(gap)
      }
      await store.run(() => findQueueHead('all accepted', 'turn'))
      await engine.idle()
      const expected = new Map<string, number[]>()
      for (const [index, { session, lane }] of sent.entries()) {
        const name = `s${session} ${lane}`
        expected.set(name, [...(expected.get(name) ?? []), index])
      }
      assert.deepEqual(new Map([...done].sort()), new Map([...expected].sort()))
      assert.ok(mostTurns() <= concurrency)
      await store.close()
    }),
    { numRuns: 25 },
  )
})
