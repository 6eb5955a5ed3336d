/**
 * Carries out the runs of jobs: the script, the turn of the agent, the output file, the delivery and the record. Every step can be
 * repeated after a crash, except a script, which is never started twice.
 */
import { messageOf } from '../lib/errors.ts'
import { isSilence } from '../message/silence.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { ClaimedRun } from './claim-run.ts'
import { timeOf, timeText } from './job.ts'
import { findJob, listRunningJobs, type StoredJob, saveJob } from './job-store.ts'
import { createRunEnd, failed, type JobRun, type Outcome, type RunEndDeps } from './run-end.ts'

export interface ScriptResult {
  readonly ok: boolean
  /** What it printed; of a failed one with the reason. */
  readonly output: string
}

export interface RunsDeps extends RunEndDeps {
  /** Aborts when the gateway stops. */
  readonly stopping: AbortSignal
  /** Runs the script of the job. Rejects when it cannot be started, or with the signal's reason. */
  runScript(run: JobRun, signal: AbortSignal): Promise<ScriptResult>
  /** Stores the message for the agent and resolves with its number. A second one for the same run is the first one. */
  startTurn(run: JobRun, text: string): Promise<number>
  waitForTurn(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** The message for the agent. */
  composePrompt(stored: StoredJob, scriptOutput: string | undefined): Promise<string>
  /** Why the person who made the job may not have it run any more: a sentence; '' if it may. */
  refusal(stored: StoredJob): string
  /** How many runs go on at once. The others wait. */
  readonly maxParallel: () => number
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Runs {
  /** Starts a claimed run. Returns at once. */
  begin(claimed: Exclude<ClaimedRun, { kind: 'none' }>): void
  /** Goes on with the runs of the last process. Rejects `store/...`. */
  recover(): Promise<void>
  /** Resolves when no run needs this process any more. */
  idle(): Promise<void>
}

export function createRuns(deps: RunsDeps): Runs {
  const { store, log, stopping, failpoint } = deps
  const { finish, giveUp, writeOutput } = createRunEnd(deps)
  const open = new Set<Promise<void>>()
  let active = 0
  const waiting: (() => void)[] = []

  /** Resolves when this run may go on. */
  async function enter(): Promise<void> {
    if (active < deps.maxParallel()) active += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
  }

  /** Hands the place over, unless the limit was lowered meanwhile. */
  function leave(): void {
    const next = active > deps.maxParallel() ? undefined : waiting.shift()
    if (next === undefined) active -= 1
    else next()
  }

  function track(work: () => Promise<void>): void {
    const tracked = work().finally(() => open.delete(tracked))
    open.add(tracked)
  }

  /** Never rejects. A run that cannot be carried out in some attempts ends with an error. */
  async function carryOut(run: JobRun): Promise<void> {
    await enter()
    const { id, name } = run.stored.job
    log.info({ event: 'cron.started', job: id, name, slot: timeText(run.slot) }, 'a scheduled job begins')
    try {
      for (let attempt = 1; !stopping.aborted; attempt++) {
        try {
          await execute(run)
          return
        } catch (error) {
          // The record of the run stays, and the next start goes on with it.
          if (stopping.aborted) return
          log.error({ event: 'cron.run_failed', job: id, attempt, err: error }, 'a run of a scheduled job failed')
          if (attempt >= maxAttempts) return await end(run, messageOf(error))
          await deps.sleep(retryMs * 2 ** attempt, stopping)
        }
      }
    } finally {
      leave()
    }
  }

  /** A job whose run has no end would not run again. A full disk may take longer than all attempts. */
  async function end(run: JobRun, reason: string): Promise<void> {
    while (!(await giveUp(run, reason)) && !stopping.aborted) await deps.sleep(endRetryMs, stopping)
  }

  /** From the step that is stored. */
  async function execute({ stored: { job }, slot }: JobRun): Promise<void> {
    const stored = await store.run(() => findJob(job.id))
    if (stored?.run?.slot !== slot) return
    const run = { stored, slot }
    if (stored.run.seq !== null) return await finish(run, await waitFor(stored.run.seq))
    const refusal = deps.refusal(stored)
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
    const text = await deps.composePrompt(run.stored, scriptOutput)
    const seq = await deps.startTurn(run, text)
    failpoint('cron:accepted')
    await updateRun(run, { seq })
    await finish(run, await waitFor(seq))
  }

  async function waitFor(seq: number): Promise<Outcome> {
    const { status, text } = await deps.waitForTurn(seq, stopping)
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
      const run = { stored, slot: timeOf(stored.job.next_run_at) ?? deps.clock() }
      const minutes = Math.round(claimed.lateMs / 60_000)
      track(async () => {
        log.warn({ event: 'cron.missed', job: stored.job.id, minutes }, 'a scheduled job was missed and is not run')
        await writeOutput(run, `The job was not run: the gateway did not run at its time, ${minutes} minutes before.`)
        deps.changed()
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
