/**
 * Carries out the runs of jobs: the script, the turn of the agent, the output file, the delivery and the record. Every step can be
 * repeated after a crash, except a script, which is never started twice.
 */
import { messageOf } from '../lib/errors.ts'
import { sleep } from '../lib/timers.ts'
import { isSilence } from '../message/silence.ts'
import type { ClaimedRun } from './due.ts'
import { timeOf, timeText } from './job.ts'
import { findJob, listRunningJobs, type StoredJob, saveJob } from './job-store.ts'
import {
  createRunEnd,
  failed,
  type JobRun,
  type Outcome,
  type RunRuntime,
  type RunSteps,
  type ScriptResult,
} from './run-end.ts'

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
