/**
 * The table of scheduled jobs, which is the truth; `cron/jobs.json` mirrors it.
 */
import type { Authority } from '../message/authority.ts'
import { exec, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import { type Job, parseJob, timeOf, timeText } from './job.ts'

/** A job and the state of its run. */
export interface StoredJob {
  readonly job: Job
  readonly authority: Authority
  /** ms since 1970; null: it waits for nothing. */
  readonly nextRunAt: number | null
  /** The run that has not ended. `seq`: its event, null until that is stored. */
  readonly run: { readonly slot: number; readonly seq: number | null; readonly scriptStarted: boolean } | null
}

interface JobRow {
  readonly record: string
  readonly authority: string
  readonly next_run_at: number | null
  readonly slot: number | null
  readonly seq: number | null
  readonly script: number | null
}

const columns = ['record', 'authority', 'next_run_at', 'slot', 'seq', 'script'] as const

const selectJob = query((db, p: { id: string }) => db.selectFrom('cron_jobs').select(columns).where('id', '=', p.id))

const selectJobs = query((db, p: { after: string; limit: number }) =>
  db.selectFrom('cron_jobs').select(columns).where('id', '>', p.after).orderBy('id').limit(p.limit),
)

const selectDue = query((db, p: { now: number; limit: number }) =>
  db
    .selectFrom('cron_jobs')
    .select('id')
    .where(sql<boolean>`next_run_at is not null`)
    .where('next_run_at', '<=', p.now)
    .orderBy('next_run_at')
    .limit(p.limit),
)

const selectNext = query((db) =>
  db
    .selectFrom('cron_jobs')
    .select('next_run_at')
    .where(sql<boolean>`next_run_at is not null`)
    .orderBy('next_run_at')
    .limit(1),
)

const selectRunning = query((db) =>
  db.selectFrom('cron_jobs').select(columns).where(sql<boolean>`slot is not null`).orderBy('slot'),
)

const upsert = query(
  (
    db,
    p: {
      id: string
      record: string
      authority: string
      next_run_at: number | null
      slot: number | null
      seq: number | null
      script: number | null
    },
  ) => {
    const values = {
      record: p.record,
      authority: p.authority,
      next_run_at: p.next_run_at,
      slot: p.slot,
      seq: p.seq,
      script: p.script,
    }
    return db
      .insertInto('cron_jobs')
      .values({ id: p.id, ...values })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
  },
)

const deleteJob = query((db, p: { id: string }) => db.deleteFrom('cron_jobs').where('id', '=', p.id))

/** Throws for a record that cannot be read, which this version has not written. */
function toStored({ record, authority, next_run_at, slot, seq, script }: JobRow): StoredJob {
  const parsed = parseJob(JSON.parse(record))
  if (!parsed.ok) throw new Error(`a scheduled job cannot be read: ${parsed.problem}`)
  const owner: Authority = JSON.parse(authority)
  return {
    job: parsed.job,
    authority: owner,
    nextRunAt: next_run_at,
    run: slot === null ? null : { slot, seq, scriptStarted: script === 1 },
  }
}

export function* findJob(id: string): Transaction<StoredJob | undefined> {
  const found = yield* row(selectJob, { id })
  return found === undefined ? undefined : toStored(found)
}

/** A page of jobs in the order of their ids, after the id `after`; '' for the first page. */
function* listJobs(after: string, limit: number): Transaction<readonly StoredJob[]> {
  return (yield* rows(selectJobs, { after, limit })).map(toStored)
}

/** The ids of jobs whose time has come, the earliest first. */
export function* listDueJobs(now: number, limit: number): Transaction<readonly string[]> {
  return (yield* rows(selectDue, { now, limit })).map(({ id }) => id)
}

/** When the next job is due, ms since 1970; undefined when none is. */
export function* findNextTime(): Transaction<number | undefined> {
  return (yield* row(selectNext, {}))?.next_run_at ?? undefined
}

/** Jobs with a run that has not ended. */
export function* listRunningJobs(): Transaction<readonly StoredJob[]> {
  return (yield* rows(selectRunning, {})).map(toStored)
}

/** Creates or replaces a job. `next_run_at` of its record follows `nextRunAt`. */
export function* saveJob({ job, authority, nextRunAt, run }: StoredJob): Transaction<void> {
  yield* exec(upsert, {
    id: job.id,
    record: JSON.stringify({ ...job, next_run_at: timeText(nextRunAt) }),
    authority: JSON.stringify(authority),
    next_run_at: nextRunAt,
    slot: run?.slot ?? null,
    seq: run?.seq ?? null,
    script: run?.scriptStarted === true ? 1 : null,
  })
}

export function* removeJob(id: string): Transaction<void> {
  yield* exec(deleteJob, { id })
}

const selectDigests = query((db) => db.selectFrom('cron_file').select('digests').where('id', '=', 1))

const upsertDigests = query((db, p: { digests: string }) =>
  db
    .insertInto('cron_file')
    .values({ id: 1, digests: p.digests })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ digests: p.digests })),
)

/** Of the texts of `jobs.json` that were written last: the one before a write that a crash may have prevented, and that one. */
export function* readFileDigests(): Transaction<readonly string[]> {
  const found = yield* row(selectDigests, {})
  const digests: readonly string[] = found === undefined ? [] : JSON.parse(found.digests)
  return digests
}

export function* storeFileDigests(digests: readonly string[]): Transaction<void> {
  yield* exec(upsertDigests, { digests: JSON.stringify(digests) })
}

/** Removes the records of jobs that were completed before a time. Rejects `store/...`. */
export async function pruneCompletedJobs(store: Pick<Store, 'run'>, before: number): Promise<void> {
  for (const { job, run } of await readAllJobs(store)) {
    const ended = timeOf(job.last_run_at)
    if (job.state === 'completed' && run === null && ended !== null && ended < before)
      await store.run(() => removeJob(job.id))
  }
}

const pageSize = 500

/** All jobs, in pages, so that the store is free in between. */
export async function readAllJobs(store: Pick<Store, 'run'>): Promise<readonly StoredJob[]> {
  const found: StoredJob[] = []
  for (;;) {
    const after = found.at(-1)?.job.id ?? ''
    const page = await store.run(() => listJobs(after, pageSize))
    found.push(...page)
    if (page.length < pageSize) return found
  }
}
