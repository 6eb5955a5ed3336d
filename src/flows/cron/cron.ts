/**
 * Scheduled jobs in a running gateway: the scheduler, the runs and the file `cron/jobs.json` together. A firing is a message in the
 * inbox with the key `cron:<id>:<time>`, so that it is stored before it counts, and never happens twice. Loaded with the first job.
 */
import { join } from 'node:path'
import type { Environment } from '../../agent/environments/environment.ts'
import type { CronConfig } from '../../cron/config.ts'
import type { JobMaker, Jobs } from '../../cron/contract.ts'
import { findVisibleJob } from '../../cron/find-job.ts'
import { pruneCompletedJobs } from '../../cron/job-store.ts'
import type { JobsFile } from '../../cron/jobs-file.ts'
import type { JobRun } from '../../cron/run-end.ts'
import { createRuns } from '../../cron/runs.ts'
import { createScheduler } from '../../cron/scheduler.ts'
import type { EventResults } from '../../inbox/event-results.ts'
import type { Inbox } from '../../inbox/inbox.ts'
import type { HomeLayout } from '../../lib/home.ts'
import { brand, type RandomBytes } from '../../lib/ids.ts'
import type { Logger } from '../../lib/log.ts'
import type { Authority } from '../../message/authority.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { EventKey } from '../../message/ids.ts'
import { cronPlatform } from '../../message/source.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { DeliveryConfig } from '../delivery/config.ts'
import { runScript } from '../environments/run-script.ts'
import { formatModelChoice } from '../models/conversation-model.ts'
import type { CheckRequestDeps } from './check-request.ts'
import { type DeliverResultDeps, deliverResult } from './deliver-result.ts'
import { findJobTargets, mayNameAnyChat } from './job-targets.ts'
import { readLatestOutput, writeJobOutput } from './outputs.ts'
import { jobPrompt } from './prompt.ts'
import { openStoredJobs, timeZoneOf } from './stored-jobs.ts'

export interface CronDeps
  extends Omit<DeliverResultDeps, 'outbox' | 'settings'>,
    Pick<CheckRequestDeps, 'toolsetProblem' | 'unknownSkills'> {
  readonly home: HomeLayout
  readonly settings: () => CronConfig &
    DeliveryConfig & {
      readonly timezone: string
      readonly platform_toolsets: Readonly<Record<string, readonly string[]>>
    }
  readonly inbox: Pick<Inbox, 'accept'>
  readonly turnResults: Pick<EventResults, 'wait'>
  readonly outbox: Pick<Outbox, 'prepare' | 'withhold'>
  openShell(): Promise<{ readonly environment: Environment }>
  /** The text of skills for the model. Rejects with system errors. */
  readSkills(names: readonly string[]): Promise<string>
  /** The provider that is configured. */
  usualProvider(): string
  /** Ends a turn. */
  stopTurn(seq: number): Promise<unknown>
  /** Whether the person has lost the access. */
  hasLostAccess(authority: Authority): boolean
  sleep(ms: number, signal: AbortSignal): Promise<void>
  readonly stopping: AbortSignal
  readonly random: RandomBytes
  readonly log: Logger
  readonly setTimer: (call: () => void, ms: number) => () => void
  /** A run begins. Must neither throw nor wait. */
  onFired(job: { readonly id: string; readonly name: string }, slot: number): void
  failpoint(point: string): void
}

export interface Cron {
  readonly jobs: Jobs
  /** Why `jobs.json` is not used; '' when it is. */
  problem(): string
  /** Resolves when runs and the file are at rest. */
  stop(): Promise<void>
}

/** A change is written after this, together with those that follow it. */
const writeDelayMs = 500
const dayMs = 86_400_000

/** Reads the file, goes on with the runs of the last process, and starts the scheduler. Rejects `store/...`. */
export async function openCron(deps: CronDeps): Promise<Cron> {
  const { settings, store, clock, log } = deps
  const timeZone = () => timeZoneOf(settings())
  const { jobs, file } = openStoredJobs({
    ...deps,
    settings: () => ({ timeZone: timeZone(), bareDuration: settings().cron.bare_duration }),
    targetProblem: (name, maker) => targetProblem(deps, name, maker),
    changed() {
      mirror.changed()
      scheduler.changed()
    },
  })
  const mirror = createMirror(deps, file)
  const runs = createRuns({
    ...{ store, clock, log, stopping: deps.stopping, failpoint: deps.failpoint },
    ...runSteps(deps),
    refusal: (stored) => refusalOf(deps, stored),
    maxParallel: () => settings().cron.max_parallel_jobs,
    sleep: deps.sleep,
    changed() {
      mirror.changed()
      scheduler.changed()
    },
  })
  const scheduler = createScheduler({
    ...{ store, clock, log, failpoint: deps.failpoint, setTimer: deps.setTimer },
    settings: () => ({ catchUp: settings().cron.catch_up_missed, timeZone: timeZone() }),
    begin(claimed) {
      if (claimed.kind === 'run') deps.onFired(claimed.stored.job, claimed.slot)
      runs.begin(claimed)
      mirror.changed()
    },
    readFile: () =>
      file.read().catch((error: unknown) => {
        log.error({ event: 'cron.file_unreadable', err: error }, 'jobs.json could not be read')
      }),
  })
  await file.read()
  await runs.recover()
  scheduler.start()
  // A crash may have kept the last change from the file.
  mirror.changed()
  return {
    jobs,
    problem: file.problem,
    async stop() {
      await scheduler.stop()
      await runs.idle()
      await mirror.stop()
    },
  }
}

/** Why a person may not name this target: a part of a sentence; '' if it may. A chat of an owner is looked for when it is sent to. */
async function targetProblem(deps: CronDeps, name: string, { authority, origin }: JobMaker): Promise<string> {
  if (mayNameAnyChat(deps, authority)) return ''
  const targets = await findJobTargets(deps, authority, name, origin ?? undefined, deps.stopping)
  return 'problem' in targets ? targets.problem : ''
}

/** Writes the file some time after a change. */
function createMirror({ setTimer, log, store, clock, settings }: CronDeps, file: JobsFile) {
  let cancel: (() => void) | undefined
  let writing = Promise.resolve()
  const prune = () => store.run(() => pruneCompletedJobs(clock() - settings().cron.completed_retention_days * dayMs))
  const write = () => {
    cancel = undefined
    writing = writing
      .then(prune)
      .then(file.write)
      .catch((error: unknown) => {
        log.error({ event: 'cron.mirror_failed', err: error }, 'jobs.json could not be brought up to date')
      })
  }
  return {
    changed() {
      cancel ??= setTimer(write, writeDelayMs)
    },
    async stop() {
      const isOpen = cancel !== undefined
      cancel?.()
      if (isOpen) write()
      await writing
    },
  }
}

function runSteps(deps: CronDeps) {
  const { home, settings, store, inbox, turnResults, outbox, openShell } = deps
  const outputs = join(home.cron, 'output')
  return {
    runScript: (run: JobRun, signal: AbortSignal) =>
      runScript(
        {
          ...{ directory: join(home.root, 'scripts'), openShell, redact: outbox.withhold },
          timeoutMs: () => settings().cron.script_timeout * 1_000,
        },
        run.stored.job,
        signal,
      ),
    async composePrompt({ job, authority }: JobRun['stored'], scriptOutput: string | undefined) {
      const parts: { readonly name: string; readonly text: string }[] = []
      for (const name of job.context_from) {
        const source = await findVisibleJob(store, name, authority)
        const text = 'problem' in source ? '' : await readLatestOutput(outputs, source.job.id)
        if (text !== '') parts.push({ name, text })
      }
      return jobPrompt(job, { scriptOutput, outputs: parts })
    },
    async startTurn({ stored: { job, authority }, slot }: JobRun, text: string) {
      const skills = job.skills.length === 0 ? '' : await deps.readSkills(job.skills)
      const toolsets =
        job.enabled_toolsets.length > 0 ? job.enabled_toolsets : settings().platform_toolsets[cronPlatform]
      const event: MessageEvent = {
        source: {
          ...{ platform: cronPlatform, account: 'default', chatType: 'dm', chatId: `${job.id}_${slot.toString(36)}` },
          ...{ chatName: job.name, userName: job.name },
          ...(authority.userId === undefined ? {} : { userId: authority.userId }),
        },
        ...{ text, messageType: 'text', timestamp: slot, internal: true, authority, allowGatewayControl: false },
        ...(toolsets === undefined ? {} : { toolsets }),
        ...(skills === '' ? {} : { skills }),
        task: {
          ...{ id: `cron_${job.id}`, deliver: null, route: cronPlatform },
          ...(job.model === '' && job.provider === '' ? {} : { model: chosenModel(job, deps.usualProvider()) }),
          ...(job.workdir === '' ? {} : { directory: job.workdir }),
        },
      }
      const accepted = await inbox.accept(event, [brand<EventKey>(`cron:${job.id}:${slot}`)])
      if (accepted.status === 'refused')
        throw new Error(`the message of the job ${job.id} was refused: ${accepted.reason}`)
      return accepted.seq
    },
    async waitForTurn(seq: number, signal: AbortSignal) {
      const limit = settings().cron.turn_timeout
      if (limit === 0) return await turnResults.wait(seq, signal)
      const { waitWhileActive } = await import('./idle-turn.ts')
      return await waitWhileActive(deps, seq, limit * 1_000, signal)
    },
    writeOutput: (run: JobRun, text: string) => writeJobOutput(outputs, settings().cron.output_retention, run, text),
    deliver: (run: JobRun, text: string, path: string) =>
      deliverResult({ ...deps, store }, run, { text, path }, deps.stopping),
  }
}

/** Returns the model in the form in which `/model` stores it. */
function chosenModel({ provider, model }: JobRun['stored']['job'], usual: string): string {
  return formatModelChoice({ provider: provider || usual, model })
}

/** A job does not outlive what its person may do. */
function refusalOf(
  { currentAuthority, hasLostAccess }: Pick<CronDeps, 'currentAuthority' | 'hasLostAccess'>,
  { job, authority }: JobRun['stored'],
): string {
  if (hasLostAccess(authority)) return 'The person who made this job has no access any more. It is paused.'
  const { role } = currentAuthority(authority)
  if (role === 'guest') return 'The person who made this job may not schedule jobs any more. It is paused.'
  return role !== 'owner' && (job.script !== '' || job.no_agent || job.workdir !== '')
    ? 'The person who made this job may not schedule scripts any more. It is paused.'
    : ''
}
