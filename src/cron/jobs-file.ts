/**
 * `cron/jobs.json` (contract hermes.md §4.8): a mirror of the jobs. What a person changes there by hand is taken over: records that
 * differ from what was written last. A file that cannot be read changes nothing, and is not written again until it can be read.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode } from '../lib/errors.ts'
import { fingerprintOf } from '../lib/file-memo.ts'
import { ensureDirectory, writeFileAtomicAsync } from '../lib/files.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import type { Authority } from '../message/authority.ts'
import { cronPlatform } from '../message/source.ts'
import type { CronRuntime } from './contract.ts'
import { type Job, parseJob, timeOf, timeText } from './job.ts'
import {
  findJob,
  readAllJobs,
  readWrittenFile,
  removeJob,
  type StoredJob,
  saveJob,
  storeWrittenFile,
  toShownJob,
  type WrittenFile,
} from './job-store.ts'
import type { Schedule } from './schedule.ts'

/** A person who can write the file is the owner of the machine. */
const fileAuthority: Authority = { role: 'owner', platform: cronPlatform, chatType: 'dm' }

export interface JobsFile {
  /** Takes over what was changed by hand. True when that changed a job. Rejects `store/...` or with a system error. */
  read(): Promise<boolean>
  /** Writes the jobs, unless the file cannot be read. Rejects as `read`. */
  write(): Promise<void>
  /** Why the file is not used; '' when it is. For the status. */
  problem(): string
}

const batchSize = 100
const maxBytes = 64 * 1024 * 1024

export function createJobsFile(path: string, { store, clock, settings, log }: Omit<CronRuntime, 'changed'>): JobsFile {
  let problem = ''
  /** The content of the file that was read last. */
  let seen = ''
  /** One at a time: two readers would take over the same change twice. */
  let last: Promise<unknown> = Promise.resolve()

  function oneByOne<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = last.then(work, work)
    last = result.catch(() => undefined)
    return result
  }

  async function readText(): Promise<string | undefined> {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  async function takeOver(records: readonly unknown[], written: WrittenFile): Promise<boolean> {
    const present = new Set<string>()
    const changed: Job[] = []
    let hasChanged = false
    for (const [index, record] of records.entries()) {
      const parsed = parseJob(record)
      const id = isRecord(record) && typeof record['id'] === 'string' ? record['id'] : ''
      present.add(id)
      if (!parsed.ok) {
        const name = id === '' ? `number ${index + 1}` : id
        log.warn({ event: 'cron.record_unusable', job: name, reason: parsed.problem }, 'a job of jobs.json is left out')
      } else if (written.records[id] !== digestOf(JSON.stringify(record))) {
        changed.push(parsed.job)
        hasChanged = true
      }
    }
    // The changes of a batch are committed together.
    for (let from = 0; from < changed.length; from += batchSize)
      await Promise.all(changed.slice(from, from + batchSize).map(takeOverJob))
    // A job that was made since the file was written is not in it either.
    for (const id of Object.keys(written.records)) {
      if (present.has(id)) continue
      await store.run(() => removeJob(id))
      hasChanged = true
    }
    return hasChanged
  }

  async function takeOverJob(job: Job): Promise<void> {
    const { nextRun } = await import('./due.ts')
    const next = nextRun(job.schedule, clock(), clock(), settings().timeZone)
    const first = next.ok ? (next.at ?? null) : null
    await store.run(function* () {
      const old = yield* findJob(job.id)
      const taken = old === undefined ? addedJob(job, first) : editedJob(old, job, first)
      yield* saveJob(next.ok || isPaused(taken.job) ? taken : unscheduledJob(taken, next.problem))
    })
  }

  function reject(reason: string): false {
    if (problem !== reason) log.error({ event: 'cron.file_unusable', path, reason }, 'jobs.json is not used')
    problem = reason
    return false
  }

  async function read(): Promise<boolean> {
    const fingerprint = fingerprintOf(path)
    if (fingerprint === seen) return false
    const hasChanged = await readNew()
    seen = fingerprint
    return hasChanged
  }

  async function readNew(): Promise<boolean> {
    const text = await readText()
    if (text === undefined) return false
    const digest = digestOf(text)
    const written = await store.run(readWrittenFile)
    if (written.texts.includes(digest)) {
      problem = ''
      return false
    }
    if (text.length > maxBytes) return reject('it is larger than 64 MB')
    const records = recordsIn(text)
    if (records === undefined) return reject('it is not JSON with a list of jobs: correct it, or delete it')
    if (problem !== '') log.info({ event: 'cron.file_usable', path }, 'jobs.json can be read again')
    problem = ''
    const hasChanged = await takeOver(records, written)
    await store.run(() => storeWrittenFile({ texts: [digest], records: digestsOf(records) }))
    return hasChanged
  }

  async function write(): Promise<void> {
    // What was changed by hand meanwhile is not lost.
    await read()
    if (problem !== '') return
    const all = await readAllJobs(store)
    const jobs = all.map(toShownJob)
    const before = await readText()
    // Nothing is written where there never was a job.
    if (jobs.length === 0 && before === undefined) return
    // What cannot be read stays for the person who wrote it.
    const unusable =
      (before === undefined ? undefined : recordsIn(before))?.filter((record) => !parseJob(record).ok) ?? []
    const text = `${JSON.stringify({ jobs: [...jobs, ...unusable], updated_at: timeText(clock()) }, null, 2)}\n`
    const texts = [...(before === undefined ? [] : [digestOf(before)]), digestOf(text)]
    // Stored first: a text that a crash kept from being written is not missed, and one that was written is not taken for an edit.
    await store.run(() => storeWrittenFile({ texts, records: digestsOf(jobs) }))
    try {
      ensureDirectory(dirname(path))
      await writeFileAtomicAsync(path, text)
    } catch (error) {
      log.error({ event: 'cron.file_not_written', path, err: error }, 'jobs.json could not be written')
    }
  }

  return { read: () => oneByOne(read), write: () => oneByOne(write), problem: () => problem }
}

/** A mark of a pause is stronger than `enabled`. */
function isPaused({ enabled, state, paused_at }: Job): boolean {
  return !enabled || state === 'paused' || paused_at !== null
}

/** A copied record keeps its next time, so that a missed one is made up for. */
function addedJob(job: Job, first: number | null): StoredJob {
  const stops = isPaused(job)
  const nextRunAt = stops ? null : (timeOf(job.next_run_at) ?? first)
  return { job: stops ? pausedJob(job) : job, authority: fileAuthority, nextRunAt, run: null }
}

/** What runs have recorded meanwhile stays. A new schedule begins with its next time, and does not run for times that have passed. */
function editedJob(old: StoredJob, edited: Job, first: number | null): StoredJob {
  const { job } = old
  const { last_run_at, last_status, last_error, last_delivery_error, last_dispatch, failure_streak } = job
  const { pending_events, run_events } = job
  const recorded = {
    ...{ last_run_at, last_status, last_error, last_delivery_error, last_dispatch, failure_streak },
    ...{ pending_events, run_events },
  }
  const merged: Job = {
    ...edited,
    ...recorded,
    pending_slot: job['pending_slot'] ?? null,
    repeat: { ...edited.repeat, completed: job.repeat.completed },
  }
  if (isPaused(edited)) return { ...old, job: pausedJob(merged), nextRunAt: null }
  const keepsTime = isSameSchedule(job.schedule, edited.schedule) && old.nextRunAt !== null
  return {
    ...old,
    job: { ...merged, state: 'scheduled', last_error: job.state === 'error' ? '' : job.last_error },
    nextRunAt: keepsTime ? old.nextRunAt : first,
  }
}

/** A person sees it in the list of jobs, and can repair it. */
function unscheduledJob(stored: StoredJob, problem: string): StoredJob {
  const last_error = `its schedule cannot be used: ${problem}`
  return { ...stored, nextRunAt: null, job: { ...stored.job, state: 'error', last_error } }
}

function pausedJob(job: Job): Job {
  return { ...job, enabled: false, state: job.state === 'completed' ? job.state : 'paused' }
}

/** Undefined for a text without a list of jobs. */
function recordsIn(text: string): readonly unknown[] | undefined {
  const value = parseJson(text)
  const records = Array.isArray(value) ? value : isRecord(value) ? value['jobs'] : undefined
  return Array.isArray(records) ? records : undefined
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64').slice(0, 22)
}

function digestsOf(records: readonly unknown[]): Record<string, string> {
  const entries = records.flatMap((record): [string, string][] =>
    isRecord(record) && typeof record['id'] === 'string' ? [[record['id'], digestOf(JSON.stringify(record))]] : [],
  )
  return Object.fromEntries(entries)
}

function isSameSchedule(a: Schedule, b: Schedule): boolean {
  const keyOf = (schedule: Schedule) =>
    schedule.kind === 'once' ? schedule.run_at : schedule.kind === 'interval' ? schedule.minutes : schedule.expr
  return a.kind === b.kind && keyOf(a) === keyOf(b)
}
