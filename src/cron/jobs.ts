/**
 * Creates, changes, runs and lists jobs, for the tool, the commands, the command line and the API. A problem is a sentence for a
 * person or a model. An owner sees all jobs; others see their own, and cannot give a job more than they have.
 */

import type { RandomBytes } from '../lib/ids.ts'
import type { Transaction } from '../store/query.ts'
import type { Runtime } from '../store/runtime.ts'
import type { CronRuntime, JobEvent, JobMaker, JobRequest, JobResult, Jobs } from './contract.ts'
import { type Job, parseJob, timeOf, timeText } from './job.ts'
import {
  findJob,
  findVisibleJob,
  listVisibleJobs,
  removeJob,
  type StoredJob,
  saveJob,
  toShownJob,
} from './job-store.ts'
import { countProblem, minOwnMinutes, scheduleProblem } from './limits.ts'
import { parseSchedule, type Schedule } from './schedule.ts'

/** What changes of jobs need besides the table. */
interface JobChecks {
  /** Takes over what was changed in `jobs.json` by hand. Rejects `store/...`. */
  readFile(): Promise<unknown>
  /** Why a job cannot have these values: a sentence; '' when it can. Looks up toolsets, skills, targets, scripts and jobs. */
  check(request: JobRequest, maker: JobMaker): Promise<string>
  /** Ends a turn. Resolves when it has ended, or after some seconds. */
  stopTurn(seq: number): Promise<unknown>
}

export function createJobs(
  { store, clock, settings, changed }: Omit<CronRuntime, 'log'>,
  { readFile, check, stopTurn }: JobChecks,
  random: RandomBytes,
): Jobs {
  /** Changes a job as it is stored now, so that a run at the same time loses nothing. */
  const change: ChangeJob = async (name, maker, changeJob, also) => {
    await readFile()
    const job = await findVisibleJob(store, name, maker.authority)
    if ('problem' in job) return { ok: false, problem: job.problem }
    const { id } = job.job
    const result = await store.run(function* (): Transaction<JobResult> {
      const stored = yield* findJob(id)
      if (stored === undefined) return { ok: false, problem: `There is no job "${id}" any more.` }
      const next = changeJob(stored)
      if ('problem' in next) return { ok: false, problem: next.problem }
      yield* saveJob(next)
      if (also !== undefined) yield* also()
      return { ok: true, job: toShownJob(next) }
    })
    if (result.ok) changed()
    return result
  }

  async function readSchedule(text: string): Promise<{ readonly schedule: Schedule } | { readonly problem: string }> {
    const parsed = await parseSchedule(text, { ...settings(), now: clock() })
    return parsed.ok ? parsed : { problem: parsed.problem }
  }

  async function firstTime(schedule: Schedule): Promise<number | null> {
    const { nextRun } = await import('./due.ts')
    const now = clock()
    const next = nextRun(schedule, now, now, settings().timeZone)
    return next.ok ? (next.at ?? null) : null
  }

  async function problemOf(schedule: Schedule | undefined, request: JobRequest, maker: JobMaker): Promise<string> {
    return (await scheduleProblem(maker.authority, schedule, request, clock())) || (await check(request, maker))
  }

  return {
    async create(request, maker) {
      if (request.schedule === undefined) return { ok: false, problem: 'The schedule is missing.' }
      await readFile()
      const made = maker.newId === undefined ? undefined : await store.run(() => findJob(maker.newId ?? ''))
      if (made !== undefined) return { ok: true, job: made.job }
      const read = await readSchedule(request.schedule)
      if ('problem' in read) return { ok: false, problem: read.problem }
      const problem = await problemOf(read.schedule, request, maker)
      if (problem !== '') return { ok: false, problem }
      const now = clock()
      const { origin } = maker
      const parsed = parseJob({
        ...{
          id: maker.newId ?? Buffer.from(random(6)).toString('hex'),
          created_at: timeText(now),
          state: 'scheduled',
          enabled: true,
        },
        ...{ schedule: read.schedule, schedule_display: read.schedule.display },
        repeat: { times: read.schedule.kind === 'once' ? 1 : null, completed: 0 },
        deliver: origin === null ? 'local' : 'origin',
        origin: origin && originRecord(origin),
        ...fieldsOf(request),
      })
      if (!parsed.ok) return { ok: false, problem: `The job cannot be made: ${parsed.problem}.` }
      const nextRunAt = await firstTime(read.schedule)
      const job = { ...parsed.job, next_run_at: timeText(nextRunAt) }
      const tooMany = await store.run(function* () {
        const many = yield* countProblem(maker.authority)
        if (many === '') yield* saveJob({ job, authority: maker.authority, nextRunAt, run: null })
        return many
      })
      if (tooMany !== '') return { ok: false, problem: tooMany }
      changed()
      return { ok: true, job }
    },

    async update(name, request, maker) {
      const read = request.schedule === undefined ? undefined : await readSchedule(request.schedule)
      if (read !== undefined && 'problem' in read) return { ok: false, problem: read.problem }
      const problem = await problemOf(read?.schedule, request, maker)
      if (problem !== '') return { ok: false, problem }
      const nextRunAt = read === undefined ? undefined : await firstTime(read.schedule)
      return await change(name, maker, (stored) => {
        const schedule = read?.schedule ?? stored.job.schedule
        // A paused job stays paused; a completed one begins again.
        const isPaused = stored.job.state === 'paused'
        const revived = isPaused ? {} : { state: 'scheduled', enabled: true }
        const parsed = parseJob({
          ...stored.job,
          ...(read === undefined ? {} : { schedule, schedule_display: schedule.display, ...revived }),
          ...fieldsOf(request),
        })
        if (!parsed.ok) return { problem: `The job was not changed: ${parsed.problem}.` }
        const keepsTime = nextRunAt === undefined || isPaused
        return { ...stored, job: parsed.job, nextRunAt: keepsTime ? stored.nextRunAt : nextRunAt }
      })
    },

    ...createStateChanges({ store, clock }, { change, firstTime, stopTurn }),

    async remove(name, maker) {
      await readFile()
      const job = await findVisibleJob(store, name, maker.authority)
      if ('problem' in job) return { ok: false, problem: job.problem }
      await store.run(() => removeJob(job.job.id))
      changed()
      return { ok: true, job: toShownJob(job) }
    },

    async find(name, maker) {
      const job = await findVisibleJob(store, name, maker.authority)
      return 'problem' in job ? { ok: false, problem: job.problem } : { ok: true, job: toShownJob(job) }
    },

    async list(maker) {
      await readFile()
      const jobs = (await listVisibleJobs(store, maker.authority)).map(toShownJob)
      const keyOf = ({ next_run_at }: Job) => timeOf(next_run_at) ?? Number.POSITIVE_INFINITY
      return jobs.sort((a, b) => keyOf(a) - keyOf(b))
    },
  }
}

function originRecord({ platform, chatId, threadId, chatName }: NonNullable<JobMaker['origin']>) {
  return { platform, chat_id: chatId, chat_name: chatName ?? '', thread_id: threadId ?? '' }
}

function fieldsOf({ schedule, repeat, ...request }: JobRequest): Record<string, unknown> {
  const given = Object.entries(request).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(given), ...(repeat === undefined ? {} : { repeat: { times: repeat, completed: 0 } }) }
}

/** Changes a job as it is stored now. Rejects `store/...`. */
type ChangeJob = (
  name: string,
  maker: JobMaker,
  changeJob: (stored: StoredJob) => StoredJob | { readonly problem: string },
  /** In the same transaction, when it was changed. */
  also?: () => Transaction<void>,
) => Promise<JobResult>

/** Further ones are refused, so that their senders try again later. */
const maxEvents = 50
const maxEventChars = 8_000

function createStateChanges(
  { store, clock }: Pick<Runtime, 'store' | 'clock'>,
  {
    change,
    firstTime,
    stopTurn,
  }: {
    readonly change: ChangeJob
    /** ms since 1970; null when the schedule has no time any more. */
    readonly firstTime: (schedule: Schedule) => Promise<number | null>
    readonly stopTurn: (seq: number) => Promise<unknown>
  },
): Pick<Jobs, 'pause' | 'resume' | 'run' | 'stop'> {
  function runNow(stored: StoredJob, { authority }: JobMaker): StoredJob | { readonly problem: string } {
    if (stored.run !== null) return { problem: `"${stored.job.name}" runs already.` }
    const now = clock()
    const last = timeOf(stored.job.last_run_at) ?? 0
    if (authority.role !== 'owner' && now - last < minOwnMinutes * 60_000)
      return { problem: `"${stored.job.name}" has run within the last ${minOwnMinutes} minutes.` }
    return { ...stored, nextRunAt: now, job: { ...stored.job, manual_run_at: timeText(now) } }
  }

  function addEvent(stored: StoredJob, { text }: JobEvent): StoredJob | { readonly problem: string } {
    const { job, run, nextRunAt } = stored
    const waiting = job.pending_events ?? []
    if (waiting.length >= maxEvents) return { problem: `"${job.name}" has ${maxEvents} events that wait.` }
    const now = clock()
    const pending_events = [...waiting, text.slice(0, maxEventChars).toWellFormed()]
    // The slot of a run is its name, so a run that goes on keeps the job waiting.
    if (run !== null) return { ...stored, job: { ...job, pending_events, pending_slot: timeText(now) } }
    return { ...stored, nextRunAt: Math.min(nextRunAt ?? now, now), job: { ...job, pending_events } }
  }

  return {
    pause: (name, reason, maker) =>
      change(name, maker, (stored) => ({
        ...stored,
        nextRunAt: null,
        job: { ...stored.job, enabled: false, state: 'paused', paused_at: timeText(clock()), paused_reason: reason },
      })),

    async resume(name, maker) {
      const job = await findVisibleJob(store, name, maker.authority)
      if ('problem' in job) return { ok: false, problem: job.problem }
      const nextRunAt = await firstTime(job.job.schedule)
      return await change(job.job.id, maker, (stored) =>
        nextRunAt === null
          ? { problem: 'Its time is over. Give it another schedule.' }
          : {
              ...stored,
              nextRunAt,
              job: { ...stored.job, enabled: true, state: 'scheduled', paused_at: null, paused_reason: '' },
            },
      )
    },

    run: (name, maker, event) =>
      change(
        name,
        maker,
        (stored) => (event === undefined ? runNow(stored, maker) : addEvent(stored, event)),
        event?.stored,
      ),

    async stop(name, maker) {
      const job = await findVisibleJob(store, name, maker.authority)
      if ('problem' in job) return { ok: false, problem: job.problem }
      const seq = job.run?.seq ?? null
      if (seq === null) return { ok: false, problem: `"${job.job.name}" has no turn that could be stopped.` }
      await stopTurn(seq)
      return { ok: true, job: job.job }
    },
  }
}
