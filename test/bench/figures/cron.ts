/**
 * A thousand scheduled jobs: how late they fire when all are due at once, and what they cost while they wait.
 */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseJob } from '../../../src/cron/job.ts'
import { saveJob } from '../../../src/cron/job-store.ts'
import { createScheduler } from '../../../src/cron/scheduler.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createSqliteStore } from '../../../src/store/sqlite/store.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { type BenchGateway, withGateway } from '../kit/gateway.ts'
import { withHome } from '../kit/home.ts'
import { median, quantile } from '../kit/stats.ts'

const count = 1_000
const config = 'platforms: { direct: { enabled: true } }'
/** A gateway is ready long before. */
const leadMs = 12_000
const yearMs = 365 * 86_400_000

export const cron: Figure = {
  name: 'cron',
  about: 'a thousand scheduled jobs: lateness when all are due at once, memory and timers while they wait',
  async measure(options) {
    return [...(await measureDue(options)), ...(await measureIdle(options)), await countTimers()]
  },
}

function jobsDueAt(at: number, number: number) {
  return Array.from({ length: number }, (_, index) => ({
    id: `job${String(index).padStart(4, '0')}`,
    name: `Job ${index}`,
    prompt: `Look at the backups of machine ${index}, and report what is missing.`,
    schedule: { kind: 'interval', minutes: 10_000, display: 'every 10000m' },
    next_run_at: new Date(at).toISOString(),
    deliver: 'local',
  }))
}

function withJobs<T>(at: number, number: number, work: (gateway: BenchGateway) => Promise<T>): Promise<T> {
  const files = number === 0 ? {} : { 'cron/jobs.json': JSON.stringify({ jobs: jobsDueAt(at, number) }) }
  return withGateway({ config, files }, work)
}

async function measureDue({ progress }: BenchOptions): Promise<Row[]> {
  progress(`${count} jobs that are due at once`)
  const at = Date.now() + leadMs
  return await withJobs(at, count, async (gateway) => {
    await sleep(Math.max(0, at - Date.now()))
    const path = join(gateway.home, 'state.db')
    const begun = performance.now()
    while (rowsOf(path, `select id from cron_jobs where slot is not null or next_run_at <= ${at} limit 1`).length > 0) {
      if (performance.now() - begun > 180_000) throw new Error('the jobs did not end')
      await sleep(250)
    }
    const claimed = rowsOf(
      path,
      `select json_extract(record, '$.last_dispatch.lateness_seconds') * 1000 as ms from cron_jobs`,
    )
    const fired = rowsOf(
      path,
      `select inbox.accepted_at - ${at} as ms from inbox join inbox_keys using (seq) where inbox_keys.key like 'cron:%'`,
    )
    const bare = await measureBare()
    return [
      {
        name: `lateness of a firing, ${count} jobs due at once, p99`,
        measured: quantile(numbers(claimed), 0.99),
        unit: 'ms',
        bar: 1_000,
        baseline: { what: 'a timer and a commit for each, bare', value: quantile(bare, 0.99) },
        note: `p50 ${median(numbers(claimed)).toFixed(0)} ms`,
      },
      {
        name: 'the same until the last message of a job is in the inbox',
        measured: Math.max(...numbers(fired)),
        unit: 'ms',
        bar: 5_000,
        note: `p50 ${median(numbers(fired)).toFixed(0)} ms; four turns of jobs at a time`,
      },
      { name: 'jobs that fired twice or not at all', measured: Math.abs(count - fired.length), unit: 'events', bar: 0 },
    ]
  })
}

/** One timer for each job, which stores a row, in the same file system: the smallest scheduler that is durable. */
function measureBare(): Promise<number[]> {
  return withHome('', async (home) => {
    const db = new DatabaseSync(join(home, 'bare.db'))
    db.exec('pragma journal_mode = wal; pragma synchronous = full; create table fired (id integer primary key)')
    const insert = db.prepare('insert into fired (id) values (?)')
    const at = Date.now() + 500
    const late: number[] = []
    await new Promise<void>((resolve) => {
      for (let id = 0; id < count; id++)
        setTimeout(() => {
          insert.run(id)
          if (late.push(Date.now() - at) === count) resolve()
        }, at - Date.now())
    })
    db.close()
    return late
  })
}

async function measureIdle({ full, progress }: BenchOptions): Promise<Row[]> {
  const rounds = full ? 7 : 3
  const without: { rss: number; heap: number }[] = []
  const idle: { rss: number; heap: number }[] = []
  for (let round = 1; round <= rounds; round++) {
    progress(`idle jobs, round ${round} of ${rounds}`)
    for (const [number, samples] of [
      [1, without],
      [count, idle],
    ] as const) {
      const sample = await withJobs(Date.now() + yearMs, number, async (gateway) => {
        // The file is read, and written once.
        await sleep(3_000)
        await gateway.memory()
        return await gateway.memory()
      })
      samples.push(sample)
    }
  }
  const of = (samples: typeof idle, field: 'rss' | 'heap') => median(samples.map((sample) => sample[field]))
  return [
    {
      name: `heap of ${count} jobs that wait`,
      measured: of(idle, 'heap') - of(without, 'heap'),
      unit: 'MB',
      bar: 2,
      note: `after a collection: ${of(idle, 'heap').toFixed(1)} MB, with one job ${of(without, 'heap').toFixed(1)} MB`,
    },
    {
      name: `resident memory of ${count} jobs that wait`,
      measured: of(idle, 'rss') - of(without, 'rss'),
      unit: 'MB',
      note: `${of(idle, 'rss').toFixed(1)} MB, with one job ${of(without, 'rss').toFixed(1)} MB; some seconds after the start, medians of ${rounds}`,
    },
  ]
}

/** Counts the timers of the scheduler with all jobs in its table. */
function countTimers(): Promise<Row> {
  return withHome('', async (home) => {
    const store = createSqliteStore({ path: join(home, 'state.db') })
    for (const record of jobsDueAt(Date.now() + yearMs, count)) {
      const parsed = parseJob(record)
      if (!parsed.ok) throw new Error(parsed.problem)
      const authority = { role: 'owner', platform: 'cli', chatType: 'dm' } as const
      const nextRunAt = Date.now() + yearMs
      await store.run(() => saveJob({ job: parsed.job, authority, nextRunAt, run: null }))
    }
    let timers = 0
    const scheduler = createScheduler(
      {
        ...{ store, clock: Date.now, log: silentLog, failpoint: () => undefined },
        settings: () => ({ catchUp: true, timeZone: 'UTC' }),
        setTimer() {
          timers += 1
          return () => {
            timers -= 1
          }
        },
      },
      async () => false,
      () => undefined,
    )
    scheduler.start()
    scheduler.changed()
    await sleep(500)
    const measured = timers
    await scheduler.stop()
    await store.close()
    return { name: `timers of ${count} jobs that wait`, measured, unit: 'events', bar: 1 }
  })
}

function rowsOf(path: string, sql: string) {
  const db = new DatabaseSync(path, { readOnly: true })
  try {
    return db.prepare(sql).all()
  } finally {
    db.close()
  }
}

function numbers(found: ReturnType<typeof rowsOf>): number[] {
  return found.map(({ ms }) => Number(ms))
}
