import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as tick } from 'node:timers/promises'
import { ModelError } from '../../../src/agent/models/provider.ts'
import { createModelOutages } from '../../../src/flows/turn/model-outages.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { settingsWith } from '../../agent/in-memory-deps.ts'
import { openStore } from '../../kit/open-store.ts'
import { sampleTurn } from './sample-turn.ts'

const busy = new ModelError('overloaded', 'later')
const turn = sampleTurn()

/** The trouble of one turn, at a clock that `pass` advances. */
function watchTurn(t: TestContext) {
  const { store } = openStore(t)
  const notices: string[] = []
  const timers = new Set<{ at: number; signal: AbortSignal; wake: () => void }>()
  let now = 0
  const outages = createModelOutages(
    { store, clock: () => now, log: silentLog },
    { waitingForModel: async (_event, _turnId, reason) => void notices.push(reason) },
    () => ({ agent: settingsWith().agent }),
    (ms, signal) => new Promise((wake) => timers.add({ at: now + ms, signal, wake })),
  )
  const watch = outages.watch(turn)
  return {
    watch,
    notices,
    async pass(ms: number) {
      now += ms
      for (const timer of timers) if (timer.at <= now || timer.signal.aborted) timer.wake()
      await tick()
    },
  }
}

test('the user is notified once calls have failed for 15 seconds', async (t) => {
  const { watch, notices, pass } = watchTurn(t)
  const trouble = watch.begin()
  trouble.failed('host', busy)
  await pass(14_999)
  assert.equal(notices.length, 0)
  trouble.failed('host', busy)
  await pass(1)
  assert.equal(notices.length, 1)
  assert.match(notices[0] ?? '', /host/)
})

test('a provider that recovers earlier causes no notice', async (t) => {
  const { watch, notices, pass } = watchTurn(t)
  const trouble = watch.begin()
  trouble.failed('host', busy)
  await pass(5_000)
  trouble.recovered()
  await pass(60_000)
  assert.equal(notices.length, 0)
})

test('streams that begin and break off again and again cause the notice', async (t) => {
  const { watch, notices, pass } = watchTurn(t)
  const trouble = watch.begin()
  for (let call = 0; call < 4; call++) {
    trouble.failed('host', busy)
    await pass(4_000)
    trouble.recovered()
  }
  assert.equal(notices.length, 1)
})

test('the end of an attempt ends its notice', async (t) => {
  const { watch, notices, pass } = watchTurn(t)
  watch.begin().failed('host', busy)
  watch.close()
  await pass(60_000)
  assert.equal(notices.length, 0)
})
