/**
 * Schedules jobs (contract hermes.md §4.8). Absent where no gateway runs jobs, and in scheduled turns unless
 * `cron.allow_agent_scheduling` permits it.
 */
import { z } from 'zod'
import { asArray, type JsonObject } from '../../lib/json.ts'
import { countOf, toErrorJson, toResultJson } from '../support/result-json.ts'
import { defineToolCode, type ToolContext } from './tool.ts'

const actions = ['create', 'list', 'update', 'pause', 'resume', 'run', 'stop', 'remove'] as const

/** What else a job has is checked where jobs are kept. */
const field = z.json().optional()
const parameters = z.object({
  action: z.enum(actions),
  job_id: z.string().max(200).optional(),
  ...{ name: field, prompt: field, schedule: field, deliver: field, repeat: field, skill: field, skills: field },
  ...{ model: field, provider: field, script: field, no_agent: field, context_from: field },
  ...{ enabled_toolsets: field, workdir: field, reason: field },
})

const text = { type: 'string' } as const

/** Shorter than all that is accepted, because it is a part of every request. */
const jsonSchema = {
  type: 'object',
  properties: {
    action: { type: 'string', enum: actions },
    job_id: text,
    schedule: { type: 'string', description: 'every 2h, weekdays at 9am, cron' },
    prompt: text,
    deliver: text,
  },
  required: ['action'],
}

export interface SchedulePort {
  /** Absent where no gateway runs jobs. */
  readonly schedule?: ScheduleJob | undefined
}

export const createCronTool = ({ schedule }: SchedulePort) =>
  defineToolCode({
    name: 'cronjob',
    description: 'Schedule jobs. A job knows only its prompt.',
    parameters,
    jsonSchema,
    acceptsUndescribed: true,
    // The id of a new job follows from the call, so that a second run finds the job. To run or remove one twice is another thing.
    mode: ({ action }) =>
      action === 'list' ? 'pure' : action === 'run' || action === 'remove' ? 'effect' : 'idempotent',
    check: () => schedule !== undefined,
    label: ({ action, job_id = '' }) => `${action} ${job_id}`.trim(),
    summarize: ({ jobs }) => countOf('job', asArray(jobs).length),

    async run(args, context) {
      if (schedule === undefined) return toErrorJson({ code: 'unavailable', reason: 'No jobs can be scheduled here.' })
      const result = await schedule(args, context)
      if ('problem' in result) return toErrorJson({ code: 'not_scheduled', reason: result.problem })
      return toResultJson({ success: true, jobs: result.jobs }, context.limits.maxResultChars)
    },
  })

/** Resolves with the jobs as `cron/jobs.json` shows them, shortened, or with why nothing was done: a sentence for the model. */
export type ScheduleJob = (
  action: JsonObject,
  call: ToolContext,
) => Promise<{ readonly jobs: readonly JsonObject[] } | { readonly problem: string }>
