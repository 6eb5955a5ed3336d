/**
 * `/api/jobs`: the scheduled jobs.
 */
import { jobActionSchema } from '../../flows/cron/job-actions.ts'
import { defineRoute } from '../route.ts'
import { jobsQuery, jobsResponse } from '../shapes/jobs.ts'

const about = { path: '/api/jobs', access: 'token', tag: 'Scheduled jobs', response: jobsResponse } as const

export const listJobs = defineRoute({
  ...about,
  method: 'GET',
  summary: 'Lists the jobs, the next one first.',
  query: jobsQuery,
  async handle({ opened }, { query }) {
    const { pageOfJobs } = await import('../handlers/jobs.ts')
    const { handleJobRequest } = await import('../../flows/cron/job-services.ts')
    return pageOfJobs(await handleJobRequest(opened.cron, { action: 'list' }), query)
  },
})

export const changeJobs = defineRoute({
  ...about,
  method: 'POST',
  summary: 'Creates or changes a job.',
  body: jobActionSchema,
  async handle({ opened }, { body }) {
    const { handleJobRequest } = await import('../../flows/cron/job-services.ts')
    return Response.json(await handleJobRequest(opened.cron, body))
  },
})
