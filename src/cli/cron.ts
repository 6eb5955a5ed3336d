/**
 * `hermes cron`: the jobs of the running daemon, or those in the database of the home while there is none.
 */
import type { Job } from '../cron/job.ts'
import { describeJob, describeJobFully } from '../flows/cron/job-actions.ts'
import { HermesError } from '../lib/errors.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { createDisplay } from './kit/display.ts'
import { askDaemon, type CronRequest } from './shared/cron-request.ts'

/** What needs a gateway that carries jobs out. */
const daemonActions: readonly string[] = ['run', 'stop']

/** Throws `cli/no-daemon`, `cli/usage`, `home/locked`, and the errors of the daemon. */
export async function cronAction(context: CliContext, request: CronRequest, json: boolean): Promise<void> {
  const running = await askDaemon(context, request)
  if (running === undefined && daemonActions.includes(request.action))
    throw new HermesError('cli/no-daemon', `A job can ${request.action} only there.`, {
      hint: 'Start one with `hermes gateway run`. `hermes cron tick` carries out the jobs that are due without one.',
    })
  const jobs = running ?? (await (await import('./shared/cron-stored.ts')).changeStoredJobs(context, request))
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(jobs)
  for (const job of jobs) {
    if (request.action === 'show') for (const line of describeJobFully(job)) display.line(toSingleLine(line))
    else display.line(toSingleLine(`${doneWords[request.action] ?? request.action}: ${describeJob(job)}`))
  }
  if (running === undefined && request.action !== 'show') display.line(noGateway)
}

const noGateway = 'No gateway runs, so no job does.'

const doneWords: Readonly<Record<string, string>> = {
  create: 'scheduled',
  update: 'changed',
  pause: 'paused',
  resume: 'goes on',
  run: 'starts now',
  stop: 'stopped',
  remove: 'removed',
}

/** Lists the jobs, the next one first. */
export async function cronList(context: CliContext, { json }: JsonOption): Promise<void> {
  const { jobs, isRunning } = await readJobs(context)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(jobs)
  if (!isRunning && jobs.length > 0) display.line(noGateway)
  if (jobs.length === 0) display.line('There are no scheduled jobs. `hermes cron create` makes one.')
  for (const job of jobs) display.line(toSingleLine(describeJob(job)))
}

/** What needs attention. Exit code 1 when the last run of a job failed. */
export async function cronStatus(context: CliContext, { json }: JsonOption): Promise<void> {
  const { jobs, isRunning } = await readJobs(context)
  const display = createDisplay(context.output, context.environment)
  const failed = jobs.filter(({ last_status }) => !['', 'ok'].includes(last_status))
  const waiting = jobs.filter(({ next_run_at }) => next_run_at !== null)
  const active = jobs.filter(({ state }) => state === 'running')
  if (failed.length > 0) context.exitCode = 1
  if (json)
    return display.json({
      gateway: isRunning,
      jobs: jobs.length,
      waiting: waiting.length,
      running: active.length,
      failed,
    })
  display.line(isRunning ? 'The gateway runs jobs at their times.' : noGateway)
  display.line(
    `${jobs.length} jobs, ${waiting.length} with a next time, ${active.length} that run now, ${failed.length} whose last run failed`,
  )
  for (const job of failed)
    display.line(
      toSingleLine(`  ${job.id}  ${job.name}: ${job.last_error || job.last_delivery_error || job.last_status}`),
    )
}

async function readJobs(context: CliContext): Promise<{ readonly jobs: readonly Job[]; readonly isRunning: boolean }> {
  const running = await askDaemon(context, { action: 'list' })
  if (running !== undefined) return { jobs: running, isRunning: true }
  return { jobs: await (await import('./shared/cron-stored.ts')).listStoredJobs(context), isRunning: false }
}
