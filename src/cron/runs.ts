/**
 * Carries out the runs of jobs: the script, the turn of the agent, the output file, the delivery and the record. Every step can be
 * repeated after a crash, except a script, which is never started twice. At the end of a run its result is kept, sent and recorded.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { sleep } from '../lib/timers.ts'
import { isSilence } from '../message/silence.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { Runtime } from '../store/runtime.ts'
import type { CronRuntime } from './contract.ts'
import type { ClaimedRun } from './due.ts'
import { timeOf, timeText } from './job.ts'
import { findJob, listRunningJobs, type StoredJob, saveJob } from './job-store.ts'

export interface Runs {
  /** Starts a claimed run. Returns at once. */
  begin(claimed: Exclude<ClaimedRun, { kind: 'none' }>): void
  /** Goes on with the runs of the last process. Rejects `store/...`. */
  recover(): Promise<void>
  /** Resolves when no run needs this process any more. */
  idle(): Promise<void>
}

/** Limits how many jobs work at once. The turns of jobs take the same places when they begin. */
export interface JobPlaces {
  /** Rejects with the signal's reason. */
  enter(signal: AbortSignal): Promise<void>
  leave(): void
}

export function createRuns(runtime: RunRuntime, steps: RunSteps, places: JobPlaces, wait = sleep): Runs {
  const { store, clock, log, stopping, failpoint } = runtime
  const { finish, giveUp, writeOutput } = createRunEnd(runtime, steps)
  const open = new Set<Promise<void>>()

  function track(work: () => Promise<void>): void {
    const tracked = work().finally(() => open.delete(tracked))
    open.add(tracked)
  }

  /** Never rejects. A run that cannot be carried out in some attempts ends with an error. */
  async function carryOut(run: JobRun): Promise<void> {
    const { id, name } = run.stored.job
    log.info({ event: 'cron.started', job: id, name, slot: timeText(run.slot) }, 'a scheduled job begins')
    for (let attempt = 1; !stopping.aborted; attempt++) {
      try {
        await execute(run)
        return
      } catch (error) {
        // The record of the run stays, and the next start goes on with it.
        if (stopping.aborted) return
        log.error({ event: 'cron.run_failed', job: id, attempt, err: error }, 'a run of a scheduled job failed')
        if (attempt >= maxAttempts) return await end(run, messageOf(error))
        await wait(retryMs * 2 ** attempt, stopping)
      }
    }
  }

  /** A job whose run has no end would not run again. A full disk may take longer than all attempts. */
  async function end(run: JobRun, reason: string): Promise<void> {
    while (!(await giveUp(run, reason)) && !stopping.aborted) await wait(endRetryMs, stopping)
  }

  /** From the step that is stored. */
  async function execute({ stored: { job }, slot }: JobRun): Promise<void> {
    const stored = await store.run(() => findJob(job.id))
    if (stored?.run?.slot !== slot) return
    const run = { stored, slot }
    if (stored.run.seq !== null) return await finish(run, await waitFor(stored.run.seq))
    const refusal = steps.refusal(stored)
    if (refusal !== '') return await finish(run, { ...failed(refusal), pauses: true })
    const { script, no_agent } = stored.job
    if (script === '') return await askAgent(run, undefined)
    if (stored.run.scriptStarted) return await finish(run, failed(interruptedText))
    const result = await runScriptOnce(run)
    if (!result.ok) return await finish(run, failed(result.output))
    const { text, wakesAgent } = readWakeLine(result.output)
    if (no_agent) return await finish(run, { ok: true, text, isSilent: text.trim() === '', usedAgent: false })
    if (!wakesAgent) return await finish(run, { ok: true, text, isSilent: true, usedAgent: false })
    await askAgent(run, text)
  }

  async function runScriptOnce(run: JobRun): Promise<ScriptResult> {
    await places.enter(stopping)
    try {
      await updateRun(run, { scriptStarted: true })
      failpoint?.('cron:script')
      return await runScript(run)
    } finally {
      places.leave()
    }
  }

  async function runScript(run: JobRun): Promise<ScriptResult> {
    try {
      const result = await steps.runScript(run, stopping)
      failpoint?.('cron:script-ended')
      return result
    } catch (error) {
      if (stopping.aborted) throw error
      return { ok: false, output: `The script could not be run: ${messageOf(error)}` }
    }
  }

  /** The message is stored at once. Its turn waits for a place. */
  async function askAgent(run: JobRun, scriptOutput: string | undefined): Promise<void> {
    const text = await steps.composePrompt(run.stored, scriptOutput)
    const seq = await steps.startTurn(run, text)
    failpoint?.('cron:accepted')
    await updateRun(run, { seq })
    await finish(run, await waitFor(seq))
  }

  async function waitFor(seq: number): Promise<Outcome> {
    const { status, text } = await steps.waitForTurn(seq, stopping)
    const ok = status === 'done'
    const said = text.trim() === '' && !ok ? `The turn was ended (${status}).` : text
    return { ok, text: said, isSilent: ok && (text.trim() === '' || isSilence(text)), usedAgent: true }
  }

  /** Changes the state of the run, unless the job was removed meanwhile. */
  async function updateRun({ stored, slot }: JobRun, change: Partial<NonNullable<StoredJob['run']>>): Promise<void> {
    await store.run(function* () {
      const now = yield* findJob(stored.job.id)
      if (now?.run?.slot === slot) yield* saveJob({ ...now, run: { ...now.run, ...change } })
    })
  }

  return {
    begin(claimed) {
      const { stored } = claimed
      if (claimed.kind === 'run') return track(() => carryOut(claimed))
      const run = { stored, slot: timeOf(stored.job.next_run_at) ?? clock() }
      const minutes = Math.round(claimed.lateMs / 60_000)
      track(async () => {
        log.warn({ event: 'cron.missed', job: stored.job.id, minutes }, 'a scheduled job was missed and is not run')
        await writeOutput(run, `The job was not run: the gateway did not run at its time, ${minutes} minutes before.`)
        runtime.changed()
      })
    },
    async recover() {
      for (const stored of await store.run(listRunningJobs)) {
        if (stored.run === null) continue
        const run = { stored, slot: stored.run.slot }
        track(() => carryOut(run))
      }
    },
    async idle() {
      while (open.size > 0) await Promise.all(open)
    },
  }
}

const interruptedText =
  'The gateway stopped while the script ran. Its outcome is unknown, and it was not started again.'

/** A script whose last line is `{"wakeAgent": false}` has nothing for the agent. The line itself is not shown. */
function readWakeLine(output: string): { readonly text: string; readonly wakesAgent: boolean } {
  const trimmed = output.trimEnd()
  const lastLine = trimmed.slice(trimmed.lastIndexOf('\n') + 1).trim()
  const match = /^\{\s*"wakeAgent"\s*:\s*(true|false)\s*\}$/.exec(lastLine)
  if (match === null) return { text: output, wakesAgent: true }
  return { text: trimmed.slice(0, trimmed.length - lastLine.length).trimEnd(), wakesAgent: match[1] === 'true' }
}

const maxAttempts = 5
const retryMs = 1_000
const endRetryMs = 60_000

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

interface Outcome {
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

function createRunEnd(runtime: RunRuntime, steps: Pick<RunSteps, 'writeOutput' | 'deliver'>) {
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
