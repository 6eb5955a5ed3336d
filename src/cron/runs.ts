/**
 * Carries out the runs of jobs: the script, the turn of the agent, the output file, the delivery and the record. Every step can be
 * repeated after a crash, except a script, which is never started twice.
 */
import { messageOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { isSilence } from '../message/silence.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { Store } from '../store/store.ts'
import type { ClaimedRun } from './claim-run.ts'
import { type Job, timeOf, timeText } from './job.ts'
import { findJob, listRunningJobs, type StoredJob, saveJob } from './job-store.ts'

export interface ScriptResult {
  readonly ok: boolean
  /** What it printed; of a failed one with the reason. */
  readonly output: string
}

/** The run of a job for one time. */
export interface JobRun {
  readonly stored: StoredJob
  /** ms since 1970: the time for which it runs. With the id of the job the name of the run. */
  readonly slot: number
}

export interface RunsDeps {
  readonly store: Store
  readonly clock: () => number
  readonly log: Logger
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
  /** Runs the script of the job. Rejects when it cannot be started, or with the signal's reason. */
  runScript(run: JobRun, signal: AbortSignal): Promise<ScriptResult>
  /** Stores the message for the agent and resolves with its number. A second one for the same run is the first one. */
  startTurn(run: JobRun, text: string): Promise<number>
  waitForTurn(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** The message for the agent. */
  composePrompt(job: Job, scriptOutput: string | undefined): Promise<string>
  /** Keeps what a run has said. A second time replaces the first one. */
  writeOutput(run: JobRun, text: string): Promise<void>
  /** Sends to the targets of the job, to each once. Resolves with the problem; '' for none. */
  deliver(run: JobRun, text: string): Promise<string>
  /** The table has changed. */
  changed(): void
  failpoint(point: string): void
}

export interface Runs {
  /** Starts a claimed run. Returns at once. */
  begin(claimed: Exclude<ClaimedRun, { kind: 'none' }>): void
  /** Goes on with the runs of the last process. Rejects `store/...`. */
  recover(): Promise<void>
  /** Resolves when no run needs this process any more. */
  idle(): Promise<void>
}

interface Outcome {
  readonly ok: boolean
  /** What the job has said; '' for nothing. */
  readonly text: string
  /** Kept, but not sent. */
  readonly isSilent: boolean
  /** The agent has worked; a failed one counts. */
  readonly usedAgent: boolean
}

export function createRuns(deps: RunsDeps): Runs {
  const { store, log, stopping, failpoint } = deps
  const open = new Set<Promise<void>>()

  function track(run: JobRun, work: () => Promise<void>): void {
    const { id } = run.stored.job
    const tracked = work()
      .catch((error: unknown) => {
        // The record of the run stays, and the next start goes on with it.
        if (stopping.aborted) return
        log.error({ event: 'cron.run_failed', job: id, err: error }, 'a run of a scheduled job could not be finished')
      })
      .finally(() => open.delete(tracked))
    open.add(tracked)
  }

  async function execute(run: JobRun): Promise<void> {
    const { job, run: state } = run.stored
    log.info({ event: 'cron.started', job: job.id, name: job.name, slot: timeText(run.slot) }, 'a scheduled job begins')
    if (state?.seq != null) return await finish(run, await waitFor(run, state.seq))
    if (job.script === '') return await askAgent(run, undefined)
    if (state?.scriptStarted === true) return await finish(run, failed(interruptedText))
    const script = await runScriptOnce(run)
    if (!script.ok) return await finish(run, failed(script.output))
    const { text, wakesAgent } = readWakeLine(script.output)
    if (job.no_agent) return await finish(run, { ok: true, text, isSilent: text.trim() === '', usedAgent: false })
    if (!wakesAgent) return await finish(run, { ok: true, text, isSilent: true, usedAgent: false })
    await askAgent(run, text)
  }

  async function runScriptOnce(run: JobRun): Promise<ScriptResult> {
    await updateRun(run, { scriptStarted: true })
    failpoint('cron:script')
    try {
      const result = await deps.runScript(run, stopping)
      failpoint('cron:script-ended')
      return result
    } catch (error) {
      if (stopping.aborted) throw error
      return { ok: false, output: `The script could not be run: ${messageOf(error)}` }
    }
  }

  async function askAgent(run: JobRun, scriptOutput: string | undefined): Promise<void> {
    const text = await deps.composePrompt(run.stored.job, scriptOutput)
    const seq = await deps.startTurn(run, text)
    failpoint('cron:accepted')
    await updateRun(run, { seq })
    await finish(run, await waitFor(run, seq))
  }

  async function waitFor(_run: JobRun, seq: number): Promise<Outcome> {
    const { status, text } = await deps.waitForTurn(seq, stopping)
    const ok = status === 'done'
    return { ok, text, isSilent: ok && (text.trim() === '' || isSilence(text)), usedAgent: true }
  }

  /** Changes the state of the run, unless the job was removed meanwhile. */
  async function updateRun({ stored, slot }: JobRun, change: Partial<NonNullable<StoredJob['run']>>): Promise<void> {
    await store.run(function* () {
      const now = yield* findJob(stored.job.id)
      if (now?.run?.slot === slot) yield* saveJob({ ...now, run: { ...now.run, ...change } })
    })
  }

  async function finish(run: JobRun, outcome: Outcome): Promise<void> {
    const { job } = run.stored
    await deps.writeOutput(run, outcome.text)
    failpoint('cron:output')
    const deliveryError = outcome.isSilent ? '' : await deps.deliver(run, outcome.text)
    failpoint('cron:delivered')
    const now = deps.clock()
    await store.run(function* () {
      const stored = yield* findJob(job.id)
      // A removed job stays removed, and a run is recorded once.
      if (stored?.run?.slot !== run.slot) return
      yield* saveJob(afterRun(stored, outcome, deliveryError, now))
    })
    const level = outcome.ok && deliveryError === '' ? 'info' : 'warn'
    log[level](
      { event: 'cron.ended', job: job.id, ok: outcome.ok, ...(deliveryError === '' ? {} : { reason: deliveryError }) },
      'a scheduled job has ended',
    )
    deps.changed()
  }

  return {
    begin(claimed) {
      const { stored } = claimed
      if (claimed.kind === 'run') return track(claimed, () => execute(claimed))
      const run = { stored, slot: timeOf(stored.job.next_run_at) ?? deps.clock() }
      const minutes = Math.round(claimed.lateMs / 60_000)
      track(run, async () => {
        log.warn({ event: 'cron.missed', job: stored.job.id, minutes }, 'a scheduled job was missed and is not run')
        await deps.writeOutput(
          run,
          `The job was not run: the gateway did not run at its time, ${minutes} minutes before.`,
        )
        deps.changed()
      })
    },
    async recover() {
      for (const stored of await store.run(listRunningJobs)) {
        if (stored.run === null) continue
        const run = { stored, slot: stored.run.slot }
        track(run, () => execute(run))
      }
    },
    async idle() {
      while (open.size > 0) await Promise.all(open)
    },
  }
}

const interruptedText =
  'The gateway stopped while the script ran. Its outcome is unknown, and it was not started again.'

function failed(text: string): Outcome {
  return { ok: false, text, isSilent: false, usedAgent: false }
}

/** A script whose last line is `{"wakeAgent": false}` has nothing for the agent. The line itself is not shown. */
function readWakeLine(output: string): { readonly text: string; readonly wakesAgent: boolean } {
  const trimmed = output.trimEnd()
  const lastLine = trimmed.slice(trimmed.lastIndexOf('\n') + 1).trim()
  const match = /^\{\s*"wakeAgent"\s*:\s*(true|false)\s*\}$/.exec(lastLine)
  if (match === null) return { text: output, wakesAgent: true }
  return { text: trimmed.slice(0, trimmed.length - lastLine.length).trimEnd(), wakesAgent: match[1] === 'true' }
}

const maxErrorChars = 2_000

/** A time that came during the run is due at once. A job without another time is completed, and its record is kept for some days. */
function afterRun(stored: StoredJob, outcome: Outcome, deliveryError: string, now: number): StoredJob {
  const { job } = stored
  const pending = typeof job['pending_slot'] === 'string' ? timeOf(job['pending_slot']) : null
  const isAllowed = job.repeat.times === null || job.repeat.completed < job.repeat.times
  const nextRunAt = job.enabled && pending !== null && isAllowed ? pending : stored.nextRunAt
  const isOver = nextRunAt === null && job.enabled && job.state !== 'error'
  const status = !outcome.ok ? 'error' : deliveryError !== '' ? 'delivery_failed' : 'ok'
  return {
    ...stored,
    nextRunAt,
    run: null,
    job: {
      ...job,
      ...(isOver ? { state: 'completed' as const, enabled: false } : {}),
      pending_slot: null,
      last_run_at: timeText(now),
      last_status: status,
      last_error: outcome.ok ? '' : outcome.text.slice(0, maxErrorChars).toWellFormed(),
      last_delivery_error: deliveryError,
      failure_streak: outcome.ok ? 0 : outcome.usedAgent ? job.failure_streak + 1 : job.failure_streak,
    },
  }
}
