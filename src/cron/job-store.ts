/**
 * The table of scheduled jobs, which is the truth; `cron/jobs.json` mirrors it. A person may see some of them: an owner all, others
 * their own.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import { asRecord, isRecord, parseJson } from '../lib/json.ts'
import type { Authority } from '../message/authority.ts'
import { exec, pick, query, row, rows, sql, type Transaction } from '../store/query.ts'
import type { Database } from '../store/schema.ts'
import type { Store } from '../store/store.ts'
import { type Job, parseJob, timeOf, timeText } from './job.ts'

/** A job and the state of its run. */
export interface StoredJob {
  readonly job: Job
  readonly authority: Authority
  /** ms since 1970; null: there is no next run. */
  readonly nextRunAt: number | null
  /** The run that has not ended. `seq`: its event, null until that is stored. */
  readonly run: { readonly slot: number; readonly seq: number | null; readonly scriptStarted: boolean } | null
}

const columns = ['record', 'authority', 'next_run_at', 'slot', 'seq', 'script'] as const

type JobRow = Pick<Database['cron_jobs'], (typeof columns)[number]>

const selectJob = query((db, p: { id: string }) => db.selectFrom('cron_jobs').select(columns).where('id', '=', p.id))

const selectJobs = query((db, p: { after: string; limit: number }) =>
  db.selectFrom('cron_jobs').select(columns).where('id', '>', p.after).orderBy('id').limit(p.limit),
)

const selectOfMaker = query((db, p: { maker: string; limit: number }) =>
  db.selectFrom('cron_jobs').select(columns).where('maker', '=', p.maker).orderBy('id').limit(p.limit),
)

const selectNamed = query((db, p: { name: string; limit: number }) =>
  db.selectFrom('cron_jobs').select(columns).where('name', '=', p.name).orderBy('id').limit(p.limit),
)

const countAll = query((db) =>
  db.selectFrom('cron_jobs').select((builder) => builder.fn.countAll<number>().as('count')),
)

const countOfMaker = query((db, p: { maker: string }) =>
  db
    .selectFrom('cron_jobs')
    .select((builder) => builder.fn.countAll<number>().as('count'))
    .where('maker', '=', p.maker),
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

const selectNext = query((db, p: { after: number }) =>
  db
    .selectFrom('cron_jobs')
    .select('next_run_at')
    .where(sql<boolean>`next_run_at is not null`)
    .where('next_run_at', '>', p.after)
    .orderBy('next_run_at')
    .limit(1),
)

const selectRunning = query((db) =>
  db.selectFrom('cron_jobs').select(columns).where(sql<boolean>`slot is not null`).orderBy('slot'),
)

const upsert = query((db, p: Database['cron_jobs']) => {
  const values = pick(p, 'record', 'authority', 'maker', 'name', 'ended_at', 'next_run_at', 'slot', 'seq', 'script')
  return db
    .insertInto('cron_jobs')
    .values({ id: p.id, ...values })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
})

const deleteJob = query((db, p: { id: string }) => db.deleteFrom('cron_jobs').where('id', '=', p.id))

const deleteEnded = query((db, p: { before: number }) =>
  db.deleteFrom('cron_jobs').where(sql<boolean>`ended_at is not null`).where('ended_at', '<', p.before),
)

/** Throws for a record that cannot be read, which this version has not written. */
function toStored({ record, authority, next_run_at, slot, seq, script }: JobRow): StoredJob {
  const parsed = parseJob(parseJson(record))
  if (!parsed.ok) throw new Error(`a scheduled job cannot be read: ${parsed.problem}`)
  return {
    job: parsed.job,
    authority: parseAuthority(authority),
    nextRunAt: next_run_at,
    run: slot === null ? null : { slot, seq, scriptStarted: script === 1 },
  }
}

/** One that cannot be read may do nothing that a stranger may not. */
function parseAuthority(text: string): Authority {
  const value = parseJson(text)
  return isAuthority(value) ? value : { role: 'guest', platform: '', chatType: 'dm' }
}

function isAuthority(value: unknown): value is Authority {
  if (!isRecord(value)) return false
  const { role, platform, chatType } = value
  return (
    (role === 'owner' || role === 'member' || role === 'guest') &&
    typeof platform === 'string' &&
    typeof chatType === 'string'
  )
}

/** The person who made a job; '' for one without an id. */
export function makerOf({ platform, userId }: Authority): string {
  return userId === undefined ? '' : `${platform}:${userId}`
}

export function* findJob(id: string): Transaction<StoredJob | undefined> {
  const stored = yield* row(selectJob, { id })
  return stored === undefined ? undefined : toStored(stored)
}

/** At most `limit` jobs of this name, whatever its case. */
function* findJobsNamed(name: string, limit: number): Transaction<readonly StoredJob[]> {
  return (yield* rows(selectNamed, { name: name.toLowerCase(), limit })).map(toStored)
}

/** At most `limit` jobs of a person. */
function* listJobsOf(maker: string, limit: number): Transaction<readonly StoredJob[]> {
  return (yield* rows(selectOfMaker, { maker, limit })).map(toStored)
}

export function* countJobs(): Transaction<number> {
  return (yield* row(countAll, {}))?.count ?? 0
}

export function* countJobsOf(maker: string): Transaction<number> {
  return (yield* row(countOfMaker, { maker }))?.count ?? 0
}

/** A page of jobs in the order of their ids, after the id `after`; '' for the first page. */
function* listJobs(after: string, limit: number): Transaction<readonly StoredJob[]> {
  return (yield* rows(selectJobs, { after, limit })).map(toStored)
}

/** The ids of jobs whose time has come, the earliest first. */
export function* listDueJobs(now: number, limit: number): Transaction<readonly string[]> {
  return (yield* rows(selectDue, { now, limit })).map(({ id }) => id)
}

/** When the next job is due after a time, ms since 1970; undefined when none is. */
export function* findNextTime(after: number): Transaction<number | undefined> {
  return (yield* row(selectNext, { after }))?.next_run_at ?? undefined
}

/** Jobs with a run that has not ended. */
export function* listRunningJobs(): Transaction<readonly StoredJob[]> {
  return (yield* rows(selectRunning, {})).map(toStored)
}

/** A job as it is shown: with its next time, and whether it runs now. */
export function toShownJob({ job, nextRunAt, run }: Pick<StoredJob, 'job' | 'nextRunAt' | 'run'>): Job {
  return { ...job, next_run_at: timeText(nextRunAt), ...(run === null ? {} : { state: 'running' }) }
}

/** Creates or replaces a job. `next_run_at` of its record follows `nextRunAt`. */
export function* saveJob({ job, authority, nextRunAt, run }: StoredJob): Transaction<void> {
  yield* exec(upsert, {
    id: job.id,
    record: JSON.stringify({ ...job, next_run_at: timeText(nextRunAt) }),
    authority: JSON.stringify(authority),
    maker: makerOf(authority),
    name: job.name.toLowerCase(),
    ended_at: job.state === 'completed' && run === null ? timeOf(job.last_run_at) : null,
    next_run_at: nextRunAt,
    slot: run?.slot ?? null,
    seq: run?.seq ?? null,
    script: run?.scriptStarted === true ? 1 : null,
  })
}

export function* removeJob(id: string): Transaction<void> {
  yield* exec(deleteJob, { id })
}

/** Removes the records of jobs that were completed before a time. */
export function* pruneCompletedJobs(before: number): Transaction<void> {
  yield* exec(deleteEnded, { before })
}

/** What was written into `jobs.json` last. */
export interface WrittenFile {
  /** Digests of the text, and of the one before a write that a crash may have prevented. */
  readonly texts: readonly string[]
  /** Digests of the records by their ids. */
  readonly records: Readonly<Record<string, unknown>>
}

const selectWritten = query((db) => db.selectFrom('cron_file').select('written').where('id', '=', 1))

const upsertWritten = query((db, p: { written: string }) =>
  db
    .insertInto('cron_file')
    .values({ id: 1, written: p.written })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ written: p.written })),
)

export function* readWrittenFile(): Transaction<WrittenFile> {
  const value = asRecord(parseJson((yield* row(selectWritten, {}))?.written ?? ''))
  const texts = Array.isArray(value['texts']) ? value['texts'].filter((text) => typeof text === 'string') : []
  return { texts, records: asRecord(value['records']) }
}

export function* storeWrittenFile(written: WrittenFile): Transaction<void> {
  yield* exec(upsertWritten, { written: JSON.stringify(written) })
}

const pageSize = 500

/** All jobs, in pages, so that the store is free in between. */
export async function readAllJobs(store: Pick<Store, 'run'>): Promise<readonly StoredJob[]> {
  const jobs: StoredJob[] = []
  for (;;) {
    const after = jobs.at(-1)?.job.id ?? ''
    const page = await store.run(() => listJobs(after, pageSize))
    jobs.push(...page)
    if (page.length < pageSize) return jobs
  }
}

const maxOfPerson = 1_000
const maxNamed = 50

export function isVisible({ authority }: Pick<StoredJob, 'authority'>, by: Authority): boolean {
  return by.role === 'owner' || (makerOf(by) !== '' && makerOf(by) === makerOf(authority))
}

/** Rejects `store/...`. */
export async function listVisibleJobs(store: Pick<Store, 'run'>, by: Authority): Promise<readonly StoredJob[]> {
  if (by.role === 'owner') return await readAllJobs(store)
  return makerOf(by) === '' ? [] : await store.run(() => listJobsOf(makerOf(by), maxOfPerson))
}

/** @param name an id, or a name that only one job has. Rejects `store/...`. */
export async function findVisibleJob(
  store: Pick<Store, 'run'>,
  name: string,
  by: Authority,
): Promise<StoredJob | { readonly problem: string }> {
  const wanted = name.trim()
  if (wanted === '') return { problem: 'Name a job: its id, or its name.' }
  const byId = await store.run(() => findJob(wanted))
  if (byId !== undefined && isVisible(byId, by)) return byId
  const named = (await store.run(() => findJobsNamed(wanted, maxNamed))).filter((stored) => isVisible(stored, by))
  const [first, ...others] = named
  if (first !== undefined && others.length === 0) return first
  const ids = named.map(({ job }) => job.id).join(', ')
  if (first !== undefined) return { problem: `${named.length} jobs are called "${wanted}". Use an id: ${ids}.` }
  const jobs = await listVisibleJobs(store, by)
  const similar = findClosestMatch(
    wanted,
    jobs.flatMap(({ job }) => [job.id, job.name]),
  )
  return { problem: `There is no job "${wanted}".${similar === null ? '' : ` Did you mean "${similar}"?`}` }
}
