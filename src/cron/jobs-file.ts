/**
 * `cron/jobs.json` (contract hermes.md §4.8): a mirror of the jobs. What a person changes there by hand is taken over; a file that
 * cannot be read changes nothing, and is not written again until it can be read.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode } from '../lib/errors.ts'
import { fingerprintOf } from '../lib/file-fingerprint.ts'
import { ensureDirectory, writeFileAtomicAsync } from '../lib/files.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import type { Logger } from '../lib/log.ts'
import type { Authority } from '../message/authority.ts'
import type { Store } from '../store/store.ts'
import { type Job, parseJob, timeOf, timeText } from './job.ts'
import { readAllJobs, readFileDigests, removeJob, type StoredJob, saveJob, storeFileDigests } from './job-store.ts'
import type { Schedule } from './schedule.ts'

export interface JobsFileDeps {
  readonly path: string
  readonly store: Store
  readonly clock: () => number
  readonly timeZone: () => string
  /** Of the jobs that the file adds: a person who can write it is the owner of the machine. */
  readonly authority: Authority
  readonly log: Logger
}

export interface JobsFile {
  /** Takes over what was changed by hand. True when that changed a job. Rejects `store/...`. */
  read(): Promise<boolean>
  /** Writes the jobs, unless the file cannot be read. Rejects `store/...` or with a system error. */
  write(): Promise<void>
  /** Why the file is not used; '' when it is. For the status. */
  problem(): string
}

const maxBytes = 64 * 1024 * 1024

export function createJobsFile({ path, store, clock, timeZone, authority, log }: JobsFileDeps): JobsFile {
  let problem = ''
  /** Of the file that was read last. */
  let seen = ''

  async function readText(): Promise<string | undefined> {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  async function takeOver(records: readonly unknown[]): Promise<boolean> {
    const before = new Map((await readAllJobs(store)).map((stored) => [stored.job.id, stored]))
    let hasChanged = false
    const seen = new Set<string>()
    for (const [index, record] of records.entries()) {
      const parsed = parseJob(record)
      const id = isRecord(record) && typeof record['id'] === 'string' ? record['id'] : ''
      seen.add(id)
      if (!parsed.ok) {
        const name = id === '' ? `number ${index + 1}` : id
        log.warn({ event: 'cron.record_unusable', job: name, reason: parsed.problem }, 'a job of jobs.json is left out')
        continue
      }
      const old = before.get(id)
      if (old !== undefined && isSame(old.job, parsed.job)) continue
      const stored = await toStored(parsed.job, old)
      await store.run(() => saveJob(stored))
      hasChanged = true
    }
    for (const id of before.keys()) {
      if (seen.has(id)) continue
      await store.run(() => removeJob(id))
      hasChanged = true
    }
    return hasChanged
  }

  /** A new schedule begins with its next time, and does not run for the times that have passed. */
  async function toStored(job: Job, old: StoredJob | undefined): Promise<StoredJob> {
    // A mark of a pause is stronger than `enabled`.
    const isPaused = !job.enabled || job.state === 'paused' || job.paused_at !== null
    const kept = {
      ...job,
      ...(isPaused ? { enabled: false, state: job.state === 'completed' ? job.state : ('paused' as const) } : {}),
    }
    const isNewSchedule = old !== undefined && !isSameSchedule(old.job.schedule, job.schedule)
    const written = isNewSchedule ? null : timeOf(job.next_run_at)
    const nextRunAt = isPaused ? null : (written ?? (await firstTime(job.schedule)))
    return {
      job: { ...kept, next_run_at: timeText(nextRunAt) },
      authority: old?.authority ?? authority,
      nextRunAt,
      run: old?.run ?? null,
    }
  }

  async function firstTime(schedule: Schedule): Promise<number | null> {
    const { nextRun } = await import('./due.ts')
    const next = nextRun(schedule, clock(), clock(), timeZone())
    return next.ok ? (next.at ?? null) : null
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
    if ((await store.run(readFileDigests)).includes(digest)) {
      problem = ''
      return false
    }
    if (text.length > maxBytes) return reject('it is larger than 64 MB')
    const records = recordsIn(text)
    if (records === undefined) return reject('it is not JSON with a list of jobs: correct it, or delete it')
    if (problem !== '') log.info({ event: 'cron.file_usable', path }, 'jobs.json can be read again')
    problem = ''
    const hasChanged = await takeOver(records)
    await store.run(() => storeFileDigests([digest]))
    return hasChanged
  }

  return {
    read,
    async write() {
      // What was changed by hand meanwhile is not lost.
      await read()
      if (problem !== '') return
      const jobs = (await readAllJobs(store)).map(({ job, nextRunAt }) => ({
        ...job,
        next_run_at: timeText(nextRunAt),
      }))
      const before = await readText()
      // Nothing is written where there never was a job.
      if (jobs.length === 0 && before === undefined) return
      // What cannot be read stays for the person who wrote it.
      const unusable =
        (before === undefined ? undefined : recordsIn(before))?.filter((record) => !parseJob(record).ok) ?? []
      const text = `${JSON.stringify({ jobs: [...jobs, ...unusable], updated_at: timeText(clock()) }, null, 2)}\n`
      // Stored first: a text that a crash kept from being written is not missed, and one that was written is not taken for an edit.
      await store.run(() => storeFileDigests([...(before === undefined ? [] : [digestOf(before)]), digestOf(text)]))
      try {
        ensureDirectory(dirname(path))
        await writeFileAtomicAsync(path, text)
      } catch (error) {
        log.error({ event: 'cron.file_not_written', path, err: error }, 'jobs.json could not be written')
      }
    },
    problem: () => problem,
  }
}

/** Undefined for a text without a list of jobs. */
function recordsIn(text: string): readonly unknown[] | undefined {
  const value = parseJson(text)
  const records = Array.isArray(value) ? value : isRecord(value) ? value['jobs'] : undefined
  return Array.isArray(records) ? records : undefined
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

function isSame(one: Job, other: Job): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
}

function sorted(job: Job): unknown {
  return Object.entries(job).sort(([a], [b]) => (a < b ? -1 : 1))
}

function isSameSchedule(one: Schedule, other: Schedule): boolean {
  const keyOf = (schedule: Schedule) =>
    schedule.kind === 'once' ? schedule.run_at : schedule.kind === 'interval' ? schedule.minutes : schedule.expr
  return one.kind === other.kind && keyOf(one) === keyOf(other)
}
