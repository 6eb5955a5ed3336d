/**
 * Jobs in the store: who may make them, what runs, and the file that mirrors them.
 */
import assert from 'node:assert/strict'
import { readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { JobMaker, JobRequest } from '../../src/cron/contract.ts'
import type { ClaimedRun } from '../../src/cron/due.ts'
import { findJob, saveJob } from '../../src/cron/job-store.ts'
import { createJobs } from '../../src/cron/jobs.ts'
import { createJobsFile } from '../../src/cron/jobs-file.ts'
import { createScheduler } from '../../src/cron/scheduler.ts'
import { HermesError } from '../../src/lib/errors.ts'
import { systemRandom } from '../../src/lib/ids.ts'
import { silentLog as log } from '../../src/lib/log.ts'
import type { Role } from '../../src/message/authority.ts'
import { exec, query } from '../../src/store/query.ts'
import type { Store } from '../../src/store/store.ts'
import { createManualClock } from '../kit/manual-clock.ts'
import { openStore } from '../kit/open-store.ts'

const start = Date.parse('2026-11-23T12:00:00Z')
const minute = 60_000

const maker = (role: Role, userId: string): JobMaker => ({
  authority: { role, platform: 'fake', chatType: 'dm', userId },
  origin: { platform: 'fake', account: 'default', chatId: 'c1' },
})
const owner = maker('owner', 'olga')
const writeRecord = query((db, p: { id: string; record: string }) =>
  db.updateTable('cron_jobs').set({ record: p.record }).where('id', '=', p.id),
)
const inUtc = () => ({ timeZone: 'UTC', bareDuration: 'once' as const })

/** @param guard the store as the scheduler sees it */
function setUp(t: TestContext, guard: (store: Store) => Store = (store) => store, timeZone = 'UTC') {
  const { store, path } = openStore(t)
  const clock = createManualClock(start)
  const settings = () => ({ timeZone, bareDuration: 'once' as const })
  const jobs = createJobs(
    { store, clock: clock.now, settings, changed: () => undefined },
    { readFile: async () => undefined, check: async () => '', stopTurn: async () => undefined },
    systemRandom,
  )
  const started: Exclude<ClaimedRun, { kind: 'none' }>[] = []
  const waits: number[] = []
  let look: (() => void) | undefined
  const scheduler = createScheduler(
    {
      ...{ store: guard(store), clock: clock.now, log, failpoint: () => undefined },
      settings: () => ({ catchUp: true, timeZone: 'UTC' }),
      setTimer(call, ms) {
        look = call
        waits.push(ms)
        return () => {
          look = undefined
        }
      },
    },
    async () => undefined,
    (claimed) => void started.push(claimed),
  )
  /** Lets the timer go off and waits until everything due is claimed. */
  async function tick(): Promise<void> {
    const before = waits.length
    if (look === undefined) scheduler.start()
    else look()
    while (waits.length === before) await new Promise(setImmediate)
  }
  async function add(request: JobRequest, by = owner) {
    const result = await jobs.create({ prompt: 'work', ...request }, by)
    if (!result.ok) assert.fail(result.problem)
    return result.job
  }
  const file = createJobsFile(join(dirname(path), 'jobs.json'), { store, clock: clock.now, settings: inUtc, log })
  return { store, clock, jobs, started, waits, tick, add, file, filePath: join(dirname(path), 'jobs.json') }
}

describe('jobs that are due', () => {
  it('run at their times, with one timer for all', async (t) => {
    const { add, tick, clock, started, waits } = setUp(t)
    await add({ schedule: 'every 10m' })
    await add({ schedule: 'in 30m' })
    await tick()
    assert.equal(waits.at(-1), minute)
    assert.equal(started.length, 0)
    clock.advance(10 * minute)
    await tick()
    assert.deepEqual(
      started.map((run) => run.kind === 'run' && run.slot - start),
      [10 * minute],
    )
  })

  it('are kept while the last run goes on, and lead to one run after it', async (t) => {
    const { add, tick, clock, started, store } = setUp(t)
    const { id } = await add({ schedule: 'every 10m' })
    for (let run = 0; run < 3; run++) {
      clock.advance(10 * minute)
      await tick()
    }
    assert.equal(started.length, 1)
    const stored = await store.run(() => findJob(id))
    assert.equal(stored?.job['pending_slot'], new Date(start + 30 * minute).toISOString())
  })

  it('run as often as they may, and not once more', async (t) => {
    const { add, tick, clock, started, store } = setUp(t)
    const { id } = await add({ schedule: 'every 10m', repeat: 2 })
    for (let run = 0; run < 4; run++) {
      clock.advance(10 * minute)
      await tick()
      const stored = await store.run(() => findJob(id))
      if (stored !== undefined) await store.run(() => saveJob({ ...stored, run: null }))
    }
    assert.equal(started.length, 2)
  })

  it('run although the claim of another one fails, which is tried again', async (t) => {
    let calls = 0
    const { add, tick, clock, started, waits } = setUp(t, (store) => ({
      ...store,
      async run(transaction) {
        calls += 1
        // The list of what is due, then a claim for each job.
        if (calls === 4) throw new HermesError('store/locked')
        if (calls === 5) for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
        return await store.run(transaction)
      },
    }))
    for (const name of ['a', 'b', 'c']) await add({ name, schedule: 'every 10m' })
    await tick()
    clock.advance(10 * minute)
    calls = 1
    await tick()
    assert.deepEqual(started.map(({ stored }) => stored.job.name).sort(), ['a', 'c'])
    assert.equal(waits.at(-1), 5_000)
    await tick()
    assert.deepEqual(started.map(({ stored }) => stored.job.name).sort(), ['a', 'b', 'c'])
  })

  it('begin although another one is due again before all are claimed', { timeout: 20_000 }, async (t) => {
    let advance: () => void = () => undefined
    const { add, tick, clock, started } = setUp(t, (store) => ({
      ...store,
      async run(transaction) {
        advance()
        return await store.run(transaction)
      },
    }))
    for (const name of ['a', 'b']) await add({ name, schedule: 'every 1m' })
    await tick()
    clock.advance(minute)
    advance = () => clock.advance(minute)
    await tick()
    assert.deepEqual(started.map(({ stored }) => stored.job.name).sort(), ['a', 'b'])
  })

  it('run beside one whose record cannot be read', async (t) => {
    const { add, tick, clock, started, waits, store } = setUp(t)
    const { id } = await add({ schedule: 'every 10m' })
    const other = await add({ schedule: 'every 10m' })
    await store.run(() => exec(writeRecord, { id, record: '{}' }))
    clock.advance(10 * minute)
    await tick()
    assert.deepEqual(
      started.map(({ stored }) => stored.job.id),
      [other.id],
    )
    assert.equal(waits.at(-1), minute)
  })

  it('follow a clock that is set back', async (t) => {
    const { add, tick, clock, jobs, waits } = setUp(t)
    await add({ schedule: 'every 10m' })
    await tick()
    clock.advance(365 * 24 * 60 * minute)
    await tick()
    clock.advance(-365 * 24 * 60 * minute)
    await tick()
    const [job] = await jobs.list(owner)
    const wait = Date.parse(job?.next_run_at ?? '') - clock.now()
    // It has run for the first time, which is ten minutes ahead again.
    assert.equal(wait, 20 * minute)
    assert.ok((waits.at(-1) ?? 0) <= minute)
  })

  it('run once when the clock jumps a day ahead, and not again for these times when it is set back', async (t) => {
    const { add, tick, clock, store, started } = setUp(t)
    const ids = [(await add({ schedule: 'every 10m' })).id, (await add({ schedule: '0 * * * *' })).id]
    const endRuns = async () => {
      for (const id of ids) {
        const stored = await store.run(() => findJob(id))
        if (stored !== undefined) await store.run(() => saveJob({ ...stored, run: null }))
      }
    }
    await tick()
    clock.advance(24 * 60 * minute)
    await tick()
    await endRuns()
    assert.equal(started.length, 2)
    clock.advance(-24 * 60 * minute)
    for (let looks = 0; looks < 8; looks++) {
      await tick()
      await endRuns()
      clock.advance(10 * minute)
    }
    const slots = started.map((run) => run.kind === 'run' && `${run.stored.job.id} ${run.slot}`)
    assert.equal(new Set(slots).size, slots.length, JSON.stringify(slots))
    // The times after those that have run come as usual.
    assert.ok(slots.includes(`${ids[0]} ${start + 20 * minute}`))
  })

  it('wait for no event that could not be stored with its delivery', async (t) => {
    const { add, jobs, store } = setUp(t)
    const { id, next_run_at } = await add({ schedule: 'every 1h' })
    const stored = function* (): Generator<never, never, never> {
      yield* []
      throw new Error('the disk is full')
    }
    await assert.rejects(jobs.run(id, owner, { text: 'an event', stored }))
    const found = await store.run(() => findJob(id))
    assert.equal(found?.job.pending_events, undefined)
    assert.equal(found?.nextRunAt, Date.parse(next_run_at ?? ''))
  })

  it('get all events that wait, however late, and refuse more than fifty', async (t) => {
    const { add, jobs, tick, clock, started } = setUp(t)
    const { id } = await add({ schedule: 'in 2h' })
    const stored = function* (): Generator<never, void, never> {
      yield* []
    }
    const event = (text: string) => ({ text, stored })
    for (let number = 0; number < 50; number++) assert.ok((await jobs.run(id, owner, event(`e${number}`))).ok)
    assert.equal((await jobs.run(id, owner, event('one more'))).ok, false)
    clock.advance(60 * minute)
    await tick()
    const [run] = started
    assert.ok(run?.kind === 'run')
    assert.equal(run.stored.job.run_events?.length, 50)
    assert.equal(run.stored.job.pending_events, undefined)
  })

  it('run when a person wants it, also while they are paused, and stay paused', async (t) => {
    const { add, tick, jobs, started } = setUp(t)
    const { id } = await add({ schedule: 'every 10m' })
    await jobs.pause(id, 'holiday', owner)
    await tick()
    assert.equal(started.length, 0)
    assert.ok((await jobs.run(id, owner)).ok)
    await tick()
    assert.equal(started.length, 1)
    const found = await jobs.find(id, owner)
    assert.ok(found.ok && found.job.state === 'running' && found.job.next_run_at === null)
    assert.ok(!found.job.enabled && found.job.paused_at !== null)
  })
})

describe('the people who make jobs', () => {
  it('see their own, and an owner sees all', async (t) => {
    const { add, jobs } = setUp(t)
    const member = maker('member', 'mia')
    const { id } = await add({ schedule: 'every 1h', name: 'secret' })
    await add({ schedule: 'every 1h', name: 'hers' }, member)
    assert.deepEqual(
      (await jobs.list(member)).map(({ name }) => name),
      ['hers'],
    )
    assert.equal((await jobs.list(owner)).length, 2)
    assert.equal((await jobs.remove(id, member)).ok, false)
    assert.equal((await jobs.update('secret', { prompt: 'x' }, member)).ok, false)
  })

  const refused: readonly [string, JobMaker, JobRequest][] = [
    ['a guest schedules nothing', maker('guest', 'g'), { schedule: 'every 1h' }],
    ['a member schedules no script', maker('member', 'm'), { schedule: 'every 1h', script: 'x.sh' }],
    ['a member chooses no directory', maker('member', 'm'), { schedule: 'every 1h', workdir: '/' }],
    ['a member has no job each minute', maker('member', 'm'), { schedule: 'every 1m' }],
    ['a member has no job each second', maker('member', 'm'), { schedule: '* * * * * *' }],
    ['a member has no two jobs within a minute', maker('member', 'm'), { schedule: '0,1 9 * * *' }],
    ['a job needs a schedule', owner, {}],
    ['a job needs something to do', owner, { schedule: 'every 1h', prompt: ' ' }],
    ['a job without an agent needs a script', owner, { schedule: 'every 1h', no_agent: true }],
    ['a prompt has a limit', owner, { schedule: 'every 1h', prompt: 'x'.repeat(100_001) }],
  ]
  for (const [name, by, request] of refused) {
    it(name, async (t) => {
      const { jobs } = setUp(t)
      const result = await jobs.create({ prompt: 'work', ...request }, by)
      assert.equal(result.ok, false)
      assert.deepEqual(await jobs.list(owner), [])
    })
  }

  it('may have a job whose times are close together only when clocks are changed', async (t) => {
    const { jobs, clock } = setUp(t, undefined, 'Europe/Berlin')
    clock.advance(Date.parse('2027-03-27T12:00:00Z') - start)
    const created = await jobs.create({ schedule: '57 1-2 * * *', prompt: 'x' }, maker('member', 'mia'))
    assert.ok(created.ok)
  })

  it('have at most twenty jobs, unless they own the gateway', async (t) => {
    const { add, jobs } = setUp(t)
    const member = maker('member', 'mia')
    for (let count = 0; count < 20; count++) await add({ schedule: 'every 1h' }, member)
    assert.equal((await jobs.create({ schedule: 'every 1h', prompt: 'x' }, member)).ok, false)
    await add({ schedule: 'every 1h' })
  })

  it('name a job by its id or its name, and are asked which of two is meant', async (t) => {
    const { add, jobs } = setUp(t)
    const { id } = await add({ schedule: 'every 1h', name: 'News' })
    const found = await jobs.find('news', owner)
    assert.ok(found.ok && found.job.id === id)
    await add({ schedule: 'every 1h', name: 'news' })
    const ambiguous = await jobs.find('news', owner)
    assert.ok(!ambiguous.ok && ambiguous.problem.includes(id))
  })
})

describe('jobs.json', () => {
  const read = (path: string): { jobs: Record<string, unknown>[] } => JSON.parse(readFileSync(path, 'utf8'))

  it('shows the jobs, and a change by hand is taken over without a run', async (t) => {
    const { add, file, filePath, jobs, tick, started } = setUp(t)
    const { id } = await add({ schedule: 'every 1h' })
    await file.write()
    const text = read(filePath)
    assert.equal(text.jobs[0]?.['id'], id)
    Object.assign(text.jobs[0] ?? {}, { prompt: 'other', schedule: { kind: 'cron', expr: '0 9 * * *', display: '' } })
    writeFileSync(
      filePath,
      JSON.stringify({ jobs: [...text.jobs, { id: 'new', prompt: 'x', schedule: { kind: 'interval', minutes: 5 } }] }),
    )
    assert.equal(await file.read(), true)
    const found = await jobs.find(id, owner)
    assert.ok(found.ok && found.job.prompt === 'other')
    assert.equal(found.job.next_run_at, '2026-11-24T09:00:00.000Z')
    assert.equal((await jobs.list(owner)).length, 2)
    await tick()
    assert.equal(started.length, 0)
  })

  it('of nonsense changes no job, and is not overwritten until it can be read', async (t) => {
    const { add, file, filePath, jobs } = setUp(t)
    await add({ schedule: 'every 1h' })
    await file.write()
    writeFileSync(filePath, '{"jobs": [')
    await file.read()
    await file.write()
    assert.equal(readFileSync(filePath, 'utf8'), '{"jobs": [')
    assert.notEqual(file.problem(), '')
    assert.equal((await jobs.list(owner)).length, 1)
    writeFileSync(filePath, '{"jobs": []}')
    await file.read()
    assert.equal(file.problem(), '')
    assert.deepEqual(await jobs.list(owner), [])
  })

  it('that a crash left behind takes back no change', async (t) => {
    const { add, file, filePath, store, clock, jobs } = setUp(t)
    await add({ schedule: 'every 1h' })
    await file.write()
    await add({ schedule: 'every 2h' })
    // Another process reads the same store and the old file.
    const later = createJobsFile(filePath, { store, clock: clock.now, settings: inUtc, log })
    utimesSync(filePath, 1, 1)
    assert.equal(await later.read(), false)
    assert.equal((await jobs.list(owner)).length, 2)
  })

  it('that was edited does not take away a job that was made since', async (t) => {
    const { add, file, filePath, jobs } = setUp(t)
    await add({ schedule: 'every 1h', name: 'first' })
    await file.write()
    writeFileSync(filePath, readFileSync(filePath, 'utf8').replace('"first"', '"renamed by hand"'))
    await add({ schedule: 'every 1h', name: 'second' })
    await file.write()
    const names = (await jobs.list(owner)).map(({ name }) => name)
    assert.deepEqual(names.sort(), ['renamed by hand', 'second'])
  })

  it('that was edited keeps what runs have recorded since', async (t) => {
    const { add, file, filePath, jobs, tick, clock, store } = setUp(t)
    const { id } = await add({ schedule: 'every 10m', name: 'first' })
    await file.write()
    writeFileSync(filePath, readFileSync(filePath, 'utf8').replace('"first"', '"renamed"'))
    clock.advance(10 * minute)
    await tick()
    await file.read()
    const found = await jobs.find(id, owner)
    assert.ok(found.ok && found.job.name === 'renamed' && found.job.repeat.completed === 1)
    assert.equal((await store.run(() => findJob(id)))?.run?.slot, start + 10 * minute)
  })

  it('keeps fields that this version does not know', async (t) => {
    const { file, filePath, jobs } = setUp(t)
    const record = {
      id: 'x',
      prompt: 'p',
      schedule: { kind: 'interval', minutes: 60 },
      attach_to_session: true,
      profile: 'work',
    }
    writeFileSync(filePath, JSON.stringify({ jobs: [record] }))
    await file.read()
    await jobs.pause('x', '', owner)
    await file.write()
    assert.equal(read(filePath).jobs[0]?.['attach_to_session'], true)
    assert.equal(read(filePath).jobs[0]?.['profile'], 'work')
  })

  it('with a schedule that cannot be read shows why its job needs repair, and runs it when it was corrected', async (t) => {
    const { file, filePath, jobs } = setUp(t)
    const write = (expr: string) =>
      writeFileSync(filePath, JSON.stringify([{ id: 'x', prompt: 'p', schedule: { kind: 'cron', expr } }]))
    write('0 25 * * *')
    await file.read()
    const broken = await jobs.find('x', owner)
    assert.ok(broken.ok)
    assert.equal(broken.job.state, 'error')
    assert.equal(broken.job.last_error, 'its schedule cannot be used: the hour (0-23) cannot be "25"')
    write('0 5 * * *')
    await file.read()
    const corrected = await jobs.find('x', owner)
    assert.ok(corrected.ok && corrected.job.state === 'scheduled')
    assert.equal(corrected.job.next_run_at, '2026-11-24T05:00:00.000Z')
    assert.equal(corrected.job.last_error, '')
  })

  it('whose mark of a pause contradicts `enabled` stays paused', async (t) => {
    const { file, filePath, jobs } = setUp(t)
    const paused = { id: 'x', prompt: 'p', schedule: { kind: 'interval', minutes: 60 }, enabled: true, state: 'paused' }
    writeFileSync(filePath, JSON.stringify([paused]))
    await file.read()
    const found = await jobs.find('x', owner)
    assert.ok(found.ok && !found.job.enabled && found.job.next_run_at === null)
  })

  const nonsense: readonly string[] = [
    ...[
      '',
      'null',
      '42',
      '"jobs"',
      '{}',
      '{"jobs": 7}',
      '{"jobs": {"a": 1}}',
      '{"jobs": [',
      'jobs: []',
      '\u0000\ufffd',
    ],
    '['.repeat(100_000),
  ]
  it('of any nonsense changes no job and throws nothing', async (t) => {
    const { add, file, filePath, jobs } = setUp(t)
    await add({ schedule: 'every 1h', name: 'kept' })
    await file.write()
    for (const text of nonsense) {
      writeFileSync(filePath, text)
      assert.equal(await file.read(), false, text.slice(0, 20))
      assert.notEqual(file.problem(), '', text.slice(0, 20))
      assert.equal((await jobs.list(owner)).length, 1)
    }
  })

  it('with unusable records is read as far as it can be', async (t) => {
    const { file, filePath, jobs } = setUp(t)
    const good = { id: 'good', prompt: 'p', schedule: { kind: 'interval', minutes: 60 } }
    const records = [
      ...[null, 5, [], {}, { ...good, id: '../../x' }, { ...good, id: 7 }, { ...good, id: 'a'.repeat(65) }],
      ...[
        { ...good, id: 'b', prompt: {} },
        { ...good, id: 'c', schedule: 'every 1h' },
      ],
      ...[-1, 0, 1e-9, 1e300, '60', null].map((minutes, index) => ({
        ...good,
        id: `m${index}`,
        schedule: { kind: 'interval', minutes },
      })),
      { ...good, id: 'd', schedule: { kind: 'cron', expr: 'x'.repeat(201) } },
      {
        ...good,
        skills: undefined,
        skill: 'daily-plan',
        deliver: ['telegram', 'local'],
        state: 'running',
        repeat: null,
      },
      // The last one of an id counts.
      { ...good, name: 'twice' },
    ]
    writeFileSync(filePath, JSON.stringify({ jobs: records }))
    await file.read()
    const listed = await jobs.list(owner)
    assert.deepEqual(
      listed.map((job) => [job.id, job.name, job.state, job.schedule_display]),
      [['good', 'twice', 'scheduled', 'every 1h']],
    )
  })

  it('of five thousand jobs is read, listed and written, and one look starts what is due', async (t) => {
    const { file, filePath, jobs, tick, started, clock } = setUp(t)
    const records = Array.from({ length: 5_000 }, (_, index) => ({
      ...{ id: `j${index}`, prompt: 'p', schedule: { kind: 'interval', minutes: index < 10 ? 5 : 600 } },
    }))
    writeFileSync(filePath, JSON.stringify({ jobs: records }))
    assert.equal(await file.read(), true)
    assert.equal((await jobs.list(owner)).length, 5_000)
    clock.advance(5 * minute)
    await tick()
    assert.equal(started.length, 10)
    await file.write()
    assert.equal(read(filePath).jobs.length, 5_000)
  })
})
