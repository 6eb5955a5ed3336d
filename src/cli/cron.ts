/**
 * `hermes cron`: the jobs of the running daemon. `list` and `status` also read `cron/jobs.json` while there is none.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { HermesError, systemCode } from '../lib/errors.ts'
import { parseJson } from '../lib/json.ts'
import type { CliContext } from './context.ts'
import { findRunningDaemon } from './daemon.ts'
import { createDisplay, toSingleLine } from './display.ts'
import { readSettings } from './settings.ts'

/** The values of an action of the tool `cronjob`. */
export type CronRequest = Readonly<Record<string, unknown>> & { readonly action: string }

const jobSchema = z.looseObject({
  id: z.string(),
  name: z.string().default(''),
  schedule_display: z.string().default(''),
  schedule: z.looseObject({ display: z.string().default('') }).optional(),
  state: z.string().default(''),
  enabled: z.boolean().default(true),
  next_run_at: z.string().nullish(),
  last_run_at: z.string().nullish(),
  last_status: z.string().nullish(),
  last_error: z.string().nullish(),
  last_delivery_error: z.string().nullish(),
  deliver: z.union([z.string(), z.array(z.string())]).default('local'),
})

type ListedJob = z.output<typeof jobSchema>

const responseSchema = z.looseObject({ jobs: z.array(jobSchema) })

/** Throws `cli/no-daemon`, and the errors of the daemon. */
export async function cronAction(context: CliContext, request: CronRequest, json: boolean): Promise<void> {
  const jobs = await ask(context, request)
  if (jobs === undefined) throw new HermesError('cli/no-daemon')
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(jobs)
  for (const job of jobs) display.line(toSingleLine(`${doneWords[request.action] ?? request.action}: ${describe(job)}`))
}

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
export async function cronList(context: CliContext, { json }: { readonly json: boolean }): Promise<void> {
  const running = await ask(context, { action: 'list' })
  const jobs = running ?? readFileJobs(context)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(jobs)
  if (running === undefined && jobs.length > 0) display.line('No gateway runs, so no job does. From cron/jobs.json:')
  if (jobs.length === 0) display.line('There are no scheduled jobs. `hermes cron create` makes one.')
  for (const job of jobs) display.line(toSingleLine(describe(job)))
}

/** What needs attention. Exit code 1 when the last run of a job failed. */
export async function cronStatus(context: CliContext): Promise<void> {
  const running = await ask(context, { action: 'list' })
  const jobs = running ?? readFileJobs(context)
  const display = createDisplay(context.output, context.environment)
  const failed = jobs.filter(
    ({ last_status }) => last_status !== undefined && last_status !== null && !['', 'ok'].includes(last_status),
  )
  const waiting = jobs.filter(({ next_run_at }) => next_run_at !== undefined && next_run_at !== null)
  display.line(running === undefined ? 'No gateway runs, so no job does.' : 'The gateway runs jobs at their times.')
  display.line(`${jobs.length} jobs, ${waiting.length} with a next time, ${failed.length} whose last run failed`)
  for (const job of failed)
    display.line(
      toSingleLine(`  ${job.id}  ${job.name}: ${job.last_error || job.last_delivery_error || job.last_status}`),
    )
  if (failed.length > 0) context.exitCode = 1
}

async function ask(context: CliContext, request: CronRequest): Promise<readonly ListedJob[] | undefined> {
  const { token } = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token, fetch })
  if (daemon === undefined) return undefined
  const response = responseSchema.safeParse(await daemon.request('/api/jobs', request))
  if (!response.success) throw new HermesError('cli/incompatible-response', '', { cause: response.error })
  return response.data.jobs
}

function readFileJobs({ home }: CliContext): readonly ListedJob[] {
  try {
    const parsed = responseSchema.safeParse(parseJson(readFileSync(join(home.cron, 'jobs.json'), 'utf8')))
    return parsed.success ? parsed.data.jobs : []
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  }
}

function describe({
  id,
  name,
  schedule,
  schedule_display,
  state,
  next_run_at,
  last_status,
  deliver,
}: ListedJob): string {
  const when = next_run_at ?? (state === '' ? 'no next time' : state)
  const last = last_status ? [`last ${last_status}`] : []
  const times = schedule_display || schedule?.display || ''
  return [id, name, times, `next: ${when}`, ...last, `to ${[deliver].flat().join(',')}`].join(' · ')
}
