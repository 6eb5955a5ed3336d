/**
 * The end of a run: its result is kept, sent and recorded. Each step can be repeated after a crash.
 */
import { isHermesError } from '../lib/errors.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { Runtime } from '../store/runtime.ts'
import type { CronRuntime } from './contract.ts'
import { timeOf, timeText } from './job.ts'
import { findJob, type StoredJob, saveJob } from './job-store.ts'

/** The run of a job for one time. */
export interface JobRun {
  readonly stored: StoredJob
  /** ms since 1970: the time for which it runs. With the id of the job the name of the run. */
  readonly slot: number
}

export interface ScriptResult {
  readonly ok: boolean
  /** What it printed; of a failed one with the reason. */
  readonly output: string
}

/** What a run does outside of the schedule. */
export interface RunSteps {
  /** Why the person who made the job may not have it run any more: a sentence; '' if it may. */
  refusal(stored: StoredJob): string
  /** Runs the script of the job. Rejects when it cannot be started, or with the signal's reason. */
  runScript(run: JobRun, signal: AbortSignal): Promise<ScriptResult>
  /** The message for the agent. */
  composePrompt(stored: StoredJob, scriptOutput: string | undefined): Promise<string>
  /** Stores the message for the agent and resolves with its number. A second one for the same run is the first one. */
  startTurn(run: JobRun, text: string): Promise<number>
  waitForTurn(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** Keeps what a run has said, and resolves with the path. A second time replaces the first one. */
  writeOutput(run: JobRun, text: string): Promise<string>
  /** Sends to the targets of the job, to each once. `path`: of the whole text. Resolves with the problem; '' for none. */
  deliver(run: JobRun, text: string, path: string): Promise<string>
}

export type RunRuntime = Omit<CronRuntime, 'settings'> & Pick<Runtime, 'stopping' | 'failpoint'>

export interface Outcome {
  readonly ok: boolean
  /** What the job has said; '' for nothing. */
  readonly text: string
  /** Kept, but not sent. */
  readonly isSilent: boolean
  /** The agent has worked; a failed one counts. */
  readonly usedAgent: boolean
  /** The job is paused. */
  readonly pauses?: true
}

export function failed(text: string): Outcome {
  return { ok: false, text, isSilent: false, usedAgent: false }
}

export function createRunEnd(runtime: RunRuntime, steps: Pick<RunSteps, 'writeOutput' | 'deliver'>) {
  const { store, clock, log, failpoint } = runtime

  /** Rejects `store/...`. */
  async function finish(run: JobRun, outcome: Outcome): Promise<void> {
    // What a removed job has done is not delivered.
    const isKept = (await store.run(() => findJob(run.stored.job.id)))?.run?.slot === run.slot
    if (!isKept) return
    const path = await writeOutput(run, outcome.text)
    failpoint?.('cron:output')
    const deliveryError = outcome.isSilent ? '' : await steps.deliver(run, outcome.text, path)
    failpoint?.('cron:delivered')
    await record(run, outcome, deliveryError)
  }

  /** A result that cannot be kept is delivered all the same. */
  async function writeOutput(run: JobRun, text: string): Promise<string> {
    try {
      return await steps.writeOutput(run, text)
    } catch (error) {
      log.error({ event: 'cron.output_not_kept', job: run.stored.job.id, err: error }, 'a result could not be kept')
      return ''
    }
  }

  async function record(run: JobRun, outcome: Outcome, deliveryError: string): Promise<void> {
    const { id } = run.stored.job
    const now = clock()
    await store.run(function* () {
      const stored = yield* findJob(id)
      // A removed job stays removed, and a run is recorded once.
      if (stored?.run?.slot !== run.slot) return
      yield* saveJob(afterRun(stored, outcome, deliveryError, now))
    })
    const level = outcome.ok && deliveryError === '' ? 'info' : 'warn'
    const reason = outcome.ok ? deliveryError : outcome.text.slice(0, maxLoggedChars)
    log[level](
      { event: 'cron.ended', job: id, ok: outcome.ok, ...(reason === '' ? {} : { reason }) },
      'a scheduled job has ended',
    )
    runtime.changed()
  }

  /** Resolves with false when the end could not be stored and this is to be tried again. Never rejects. */
  async function giveUp(run: JobRun, reason: string): Promise<boolean> {
    try {
      await record(run, failed(`The run could not be carried out: ${reason}`), '')
      return true
    } catch (error) {
      log.error({ event: 'cron.end_not_stored', job: run.stored.job.id, err: error }, 'the end of a run was not stored')
      return !isHermesError(error)
    }
  }

  return { finish, giveUp, writeOutput }
}

const maxErrorChars = 2_000
const maxLoggedChars = 300

/** A time that came during the run is due at once. A job without another time is completed, and its record is kept for some days. */
function afterRun(stored: StoredJob, outcome: Outcome, deliveryError: string, now: number): StoredJob {
  const { job } = stored
  const pending = typeof job['pending_slot'] === 'string' ? timeOf(job['pending_slot']) : null
  const isAllowed = job.repeat.times === null || job.repeat.completed < job.repeat.times
  // Events have no grace, so they wait from now on.
  const pendingAt = job.pending_events === undefined ? pending : now
  const nextRunAt = job.enabled && pending !== null && isAllowed ? pendingAt : stored.nextRunAt
  const isOver = nextRunAt === null && job.enabled && job.state !== 'error'
  const status = !outcome.ok ? 'error' : deliveryError !== '' ? 'delivery_failed' : 'ok'
  return {
    ...stored,
    nextRunAt: outcome.pauses === true ? null : nextRunAt,
    run: null,
    job: {
      ...job,
      ...(isOver ? { state: 'completed' as const, enabled: false } : {}),
      ...(outcome.pauses === true && { state: 'paused' as const, enabled: false, paused_at: timeText(now) }),
      ...(outcome.pauses === true && { paused_reason: outcome.text }),
      pending_slot: null,
      run_events: undefined,
      last_run_at: timeText(now),
      last_status: status,
      last_error: outcome.ok ? '' : outcome.text.slice(0, maxErrorChars).toWellFormed(),
      last_delivery_error: deliveryError,
      failure_streak: outcome.ok ? 0 : outcome.usedAgent ? job.failure_streak + 1 : job.failure_streak,
    },
  }
}
