/**
 * The runs of jobs while the disk is full.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { parseJob } from '../../src/cron/job.ts'
import { findJob, type StoredJob, saveJob } from '../../src/cron/job-store.ts'
import { createRuns } from '../../src/cron/runs.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { silentLog } from '../../src/lib/log.ts'
import type { TurnResult } from '../../src/message/turn-result.ts'
import type { Store } from '../../src/store/store.ts'
import { openStore } from '../kit/open-store.ts'

const slot = Date.parse('2026-11-23T12:00:00Z')
const done: TurnResult = {
  status: 'done',
  text: 'said',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
}

async function addRunningJob(store: Store, id: string): Promise<StoredJob> {
  const parsed = parseJob({ id, prompt: 'work', schedule: { kind: 'interval', minutes: 10, display: 'every 10m' } })
  if (!parsed.ok) assert.fail(parsed.problem)
  const stored: StoredJob = {
    job: parsed.job,
    authority: { role: 'owner', platform: 'cron', chatType: 'dm' },
    nextRunAt: slot + 600_000,
    run: { slot, seq: null, scriptStarted: false },
  }
  await store.run(() => saveJob(stored))
  return stored
}

function startRuns(t: TestContext, store: Store, wait: () => Promise<void>) {
  const stop = new AbortController()
  t.after(() => stop.abort())
  const stopping = stop.signal
  return createRuns(
    { store, clock: () => slot, log: silentLog, stopping, failpoint: () => undefined, changed: () => undefined },
    {
      refusal: () => '',
      runScript: async () => ({ ok: true, output: '' }),
      startTurn: async () => 1,
      waitForTurn: async () => done,
      composePrompt: async ({ job }) => job.prompt,
      writeOutput: async () => '',
      deliver: async () => '',
    },
    { enter: async () => undefined, leave: () => undefined },
    wait,
  )
}

test('a job runs again after a run whose end could not be stored for a long time', async (t) => {
  const { store } = openStore(t)
  const stored = await addRunningJob(store, 'one')
  let sleeps = 0
  const full: Store = {
    ...store,
    async run(transaction) {
      if (sleeps < 10) throw new HermesError('store/full')
      return await store.run(transaction)
    },
  }
  const runs = startRuns(t, full, async () => {
    sleeps += 1
  })
  runs.begin({ kind: 'run', stored, slot })
  await runs.idle()
  const after = await store.run(() => findJob('one'))
  assert.equal(after?.run, null)
  assert.equal(after?.job.last_status, 'error')
})
