/**
 * A scheduled job, as `cron/jobs.json` holds it (contract hermes.md §4.8). Fields that this version does not know are kept.
 */
import { z } from 'zod'
import { isRecord } from '../lib/json.ts'
import { readShape } from '../lib/read-shape.ts'
import { shorten } from '../lib/visible-text.ts'
import { describeSchedule } from './schedule.ts'

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
/** ISO 8601 with a zone, or null. */
const time = z
  .string()
  .nullish()
  .transform((value) => (value && !Number.isNaN(Date.parse(value)) ? value : null))
const names = z
  .union([z.string(), z.array(z.string())])
  .nullish()
  .transform((value) => (value === null || value === undefined || value === '' ? [] : [value].flat()))

const scheduleSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('once'), run_at: z.string(), display: z.string().default('') }),
  z.object({
    kind: z.literal('interval'),
    // A second at least.
    minutes: z
      .number()
      .min(1 / 60)
      .max(52_560_000),
    display: z.string().default(''),
  }),
  z.object({ kind: z.literal('cron'), expr: z.string().min(1).max(200), display: z.string().default('') }),
])

const events = z.array(z.string()).optional().catch(undefined)

const originSchema = z
  .looseObject({ platform: z.string(), chat_id: z.coerce.string(), chat_name: text, thread_id: text })
  .nullish()
  .transform((value) => value ?? null)

const states = ['scheduled', 'paused', 'completed', 'error', 'running'] as const

/** An id is a part of a path. */
export const jobIdPattern = /^[\w-]{1,64}$/

const maxPromptChars = 100_000

export const jobSchema = z.looseObject({
  id: z.string().regex(jobIdPattern, 'must have 1 to 64 letters, digits, _ and -'),
  name: text,
  prompt: text.pipe(z.string().max(maxPromptChars)),
  skills: names,
  model: text,
  provider: text,
  /** A path below `scripts/` of the home. Its output is given to the agent, or is the result with `no_agent`. */
  script: text,
  no_agent: z
    .boolean()
    .nullish()
    .transform((value) => value === true),
  /** Ids of jobs whose latest output is given to the agent. */
  context_from: names,
  schedule: scheduleSchema,
  schedule_display: text,
  repeat: z
    .looseObject({ times: z.number().int().nullish(), completed: z.number().int().min(0).catch(0) })
    .nullish()
    .transform((value) => ({
      times: (value?.times ?? 0) > 0 ? (value?.times ?? null) : null,
      completed: value?.completed ?? 0,
    })),
  enabled: z
    .boolean()
    .nullish()
    .transform((value) => value !== false),
  /** `running` is shown, and never stored: the run of a job is a state of its own. */
  state: z
    .enum(states)
    .catch('scheduled')
    .transform((state): (typeof states)[number] => (state === 'running' ? 'scheduled' : state)),
  paused_at: time,
  paused_reason: text,
  created_at: time,
  next_run_at: time,
  last_run_at: time,
  last_status: text,
  last_error: text,
  last_delivery_error: text,
  failure_streak: z.number().int().min(0).catch(0),
  last_dispatch: z
    .looseObject({
      scheduled_at: z.string(),
      dispatched_at: z.string(),
      lateness_seconds: z.number(),
      kind: z.string(),
    })
    .nullish()
    .catch(null)
    .transform((value) => value ?? null),
  /** `origin`, `local`, `all`, or targets with commas between them. */
  deliver: names.transform((value) => value.join(',') || 'local'),
  origin: originSchema,
  enabled_toolsets: names,
  workdir: text,
  /** What events have said that let the job run: for the next run, and for the one that goes on. Absent without one. */
  pending_events: events,
  run_events: events,
})

export type Job = z.output<typeof jobSchema>

/** Reads a record of the file or the store. `problem` is a clause for people. Never throws. */
export function parseJob(
  record: unknown,
): { readonly ok: true; readonly job: Job } | { readonly ok: false; readonly problem: string } {
  const read = readShape(jobSchema, withSkills(record), 'the record')
  if (!read.ok) return read
  const problem = payloadProblem(read.value)
  return problem === undefined ? { ok: true, job: withNames(read.value) } : { ok: false, problem }
}

/** Hermes' `skill` is the first of `skills`, and stands alone in old files. */
function withSkills(record: unknown): unknown {
  if (!isRecord(record) || record['skills'] !== undefined || typeof record['skill'] !== 'string') return record
  return { ...record, skills: record['skill'] }
}

/** Why a job would have nothing to do; undefined when it has. */
export function payloadProblem({
  prompt,
  script,
  skills,
  no_agent,
}: Pick<Job, 'prompt' | 'script' | 'skills' | 'no_agent'>): string | undefined {
  if (no_agent) return script === '' ? 'a job without an agent needs a script' : undefined
  return prompt.trim() === '' && script === '' && skills.length === 0
    ? 'it has neither a prompt nor a script nor a skill'
    : undefined
}

function withNames(job: Job): Job {
  const name = job.name || shorten(job.prompt.trim() || job.skills[0] || job.script || job.id, 50)
  return { ...job, name, schedule_display: job.schedule_display || describeSchedule(job.schedule) }
}

/** ms since 1970 of a field; null for none. */
export function timeOf(field: string | null): number | null {
  return field === null ? null : Date.parse(field)
}

export function timeText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}

/** The time zone in which schedules count: `timezone` of the configuration, or that of the machine. */
export function timeZoneOf({ timezone }: { readonly timezone: string }): string {
  return timezone || new Intl.DateTimeFormat().resolvedOptions().timeZone
}
