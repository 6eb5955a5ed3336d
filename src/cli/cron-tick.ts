/**
 * `hermes cron tick`: carries out the jobs that are due, in a gateway that runs only for that time.
 */
import { setTimeout } from 'node:timers/promises'
import { callRoute, type RouteAccess } from '../api/client.ts'
import { listJobs } from '../api/routes/jobs.ts'
import { type Job, timeOf } from '../cron/job.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import { cronPlatform } from '../message/source.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay } from './kit/display.ts'
import { startEmbeddedGateway } from './kit/embedded-gateway.ts'
import { interceptSignals } from './kit/endpoint.ts'
import { readSettings } from './kit/settings.ts'
import { parseJobs } from './shared/cron-request.ts'
import { listStoredJobs } from './shared/cron-stored.ts'

const lookMs = 200

/**
 * Waits for one run of each job that is due now, or until a signal: what runs then goes on in the next
 * gateway. Exit code 1 when a job failed. Throws the errors of a start, such as `home/locked`.
 */
export async function cronTick(context: CliContext): Promise<void> {
  const { token, catalogue } = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token })
  const display = createDisplay(context.output, context.environment)
  if (daemon !== undefined) return display.line('A gateway runs, and carries jobs out at their times.')
  const due = (await listStoredJobs(context)).filter((job) => isOpen(job, Date.now()))
  if (due.length === 0) return display.line('No job is due.')
  // The results go to chats, so their platforms are connected.
  const others = [...catalogue.platforms.map(({ name }) => name), cronPlatform]
  const gateway = await startEmbeddedGateway(context, 'cli', others)
  const signals = interceptSignals()
  try {
    const before = new Map(due.map(({ id, last_run_at }) => [id, last_run_at]))
    const isWaitedFor = (job: Job) => before.get(job.id) === job.last_run_at && isOpen(job, Date.now())
    let jobs = await readJobs(gateway)
    while (jobs.some(isWaitedFor) && !signals.signal.aborted) {
      await setTimeout(lookMs)
      jobs = await readJobs(gateway)
    }
    for (const { id, name, last_status, last_error, last_run_at } of jobs) {
      if (!before.has(id) || (signals.signal.aborted && before.get(id) === last_run_at)) continue
      display.line(toSingleLine([id, name, last_status, last_error].filter((part) => part !== '').join(' · ')))
      if (last_status !== 'ok') context.exitCode = 1
    }
  } finally {
    if (signals.signal.aborted) context.exitCode = 1
    await (signals.signal.aborted ? gateway.close() : gateway.drain())
    signals.remove()
  }
}

/** It runs, or its time has come. */
function isOpen({ state, next_run_at }: Job, now: number): boolean {
  const next = timeOf(next_run_at)
  return state === 'running' || (next !== null && next <= now)
}

async function readJobs(gateway: RouteAccess): Promise<readonly Job[]> {
  return parseJobs(await callRoute(gateway, listJobs, {}))
}
