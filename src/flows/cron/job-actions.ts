/**
 * What can be done with jobs, in one form for the tool `cronjob`, `/cron`, `hermes cron` and `POST /api/jobs` (contract hermes.md §4.8).
 */
import { z } from 'zod'
import type { JobMaker, Jobs } from '../../cron/contract.ts'
import type { Job } from '../../cron/job.ts'

const names = z.union([z.string().transform((text) => text.split(',').map((name) => name.trim())), z.array(z.string())])

export const jobActionSchema = z.object({
  action: z.enum(['create', 'list', 'show', 'update', 'pause', 'resume', 'run', 'stop', 'remove']),
  /** Names the job by its id, or by its name. */
  job_id: z.string().max(200).optional(),
  name: z.string().max(200).optional(),
  prompt: z.string().optional(),
  schedule: z.string().optional(),
  deliver: names.transform((targets) => targets.join(',')).optional(),
  repeat: z.union([z.number(), z.enum(['forever', 'once'])]).nullish(),
  skills: names.optional(),
  skill: z.string().optional(),
  model: z.string().max(200).optional(),
  provider: z.string().max(200).optional(),
  base_url: z.literal('', 'has no effect; name a provider of config.yaml with provider').optional(),
  script: z.string().max(500).optional(),
  no_agent: z.boolean().optional(),
  context_from: names.optional(),
  enabled_toolsets: names.optional(),
  workdir: z.string().max(4_096).optional(),
  reason: z.string().max(500).optional(),
})

export type JobAction = z.output<typeof jobActionSchema>

type JobActionResult =
  | { readonly ok: true; readonly action: JobAction['action']; readonly jobs: readonly Job[] }
  /** A sentence for the person or the model. */
  | { readonly ok: false; readonly problem: string }

/** The jobs that an action lists, or has changed. */
export type ChangedJobs = Extract<JobActionResult, { ok: true }>

/** Rejects `store/...`. */
export async function runJobAction(jobs: Jobs, action: JobAction, maker: JobMaker): Promise<JobActionResult> {
  const { action: kind, job_id, name = '', reason = '' } = action
  // With `create` and `update` the name is what the job is called from now on.
  const which = job_id ?? name
  switch (kind) {
    case 'list':
      return { ok: true, action: kind, jobs: await jobs.list(maker) }
    case 'show':
      return toSingleResult(kind, await jobs.find(which, maker))
    case 'create':
      return toSingleResult(kind, await jobs.create(requestOf(action), maker))
    case 'update': {
      const { name: newName, ...rest } = requestOf(action)
      return toSingleResult(
        kind,
        await jobs.update(which, job_id === undefined ? rest : { ...rest, name: newName }, maker),
      )
    }
    case 'pause':
      return toSingleResult(kind, await jobs.pause(which, reason, maker))
    case 'resume':
    case 'run':
    case 'stop':
    case 'remove':
      return toSingleResult(kind, await jobs[kind](which, maker))
  }
}

function toSingleResult(action: JobAction['action'], result: Awaited<ReturnType<Jobs['find']>>): JobActionResult {
  return result.ok ? { ok: true, action, jobs: [result.job] } : result
}

function requestOf({
  action: _action,
  job_id: _id,
  reason: _reason,
  base_url: _url,
  skill,
  skills,
  repeat,
  ...fields
}: JobAction) {
  const named = skills ?? (skill === undefined ? undefined : [skill])
  const times = repeat === 'forever' ? null : repeat === 'once' ? 1 : repeat
  return { ...fields, skills: named, repeat: times }
}

/** A job in one line of plain text. */
export function describeJob(job: Job): string {
  const next = [
    ...(job.state === 'running' ? ['runs now'] : []),
    ...(job.next_run_at !== null ? [`next ${job.next_run_at}`] : job.state === 'running' ? [] : [stateText(job)]),
  ].join(', ')
  const last =
    job.last_status === ''
      ? ''
      : ` · last ${job.last_status}${job.last_run_at === null ? '' : ` at ${job.last_run_at}`}`
  return `${job.id}  ${job.name} · ${job.schedule_display} · ${next}${last} · to ${job.deliver}`
}

/** All that a person may want to know of a job: one line for each field that it has. */
export function describeJobFully(job: Job): readonly string[] {
  const { origin, repeat, last_dispatch: dispatch } = job
  const times =
    repeat.times === null ? `${repeat.completed} times so far` : `${repeat.completed} of ${repeat.times} times`
  const fields: readonly (readonly [string, string | null])[] = [
    ['id', job.id],
    ['name', job.name],
    ['schedule', job.schedule_display],
    ['state', job.state === 'running' ? 'runs now' : job.state === 'scheduled' ? 'waits' : stateText(job)],
    ['next', job.next_run_at],
    ['paused because', job.paused_reason],
    ['ran', repeat.times === null && repeat.completed === 0 ? '' : times],
    ['last', job.last_run_at === null ? '' : `${job.last_status} at ${job.last_run_at}`],
    ['last error', job.last_error],
    ['last delivery error', job.last_delivery_error],
    ['late by', dispatch === null ? '' : `${dispatch.lateness_seconds} s (${dispatch.kind})`],
    ['deliver', job.deliver],
    ['made in', origin === null ? '' : `${origin.platform}:${origin.chat_name || origin.chat_id}`],
    ['skills', job.skills.join(', ')],
    ['model', [job.provider, job.model].filter((part) => part !== '').join(': ')],
    ['toolsets', job.enabled_toolsets.join(', ')],
    ['script', job.no_agent ? `${job.script} (without the agent)` : job.script],
    ['directory', job.workdir],
    ['gets the results of', job.context_from.join(', ')],
    ['prompt', job.prompt],
  ]
  return fields.flatMap(([name, value]) => (value === null || value === '' ? [] : [`${name}: ${value}`]))
}

function stateText({ state, last_error }: Job): string {
  if (state === 'paused') return 'paused'
  if (state === 'error') return `needs repair: ${last_error}`
  return state === 'completed' ? 'completed' : 'no next time'
}
