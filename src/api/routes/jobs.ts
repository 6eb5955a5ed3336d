/**
 * `/api/jobs`: the scheduled jobs.
 */
import { jobActionSchema } from '../../flows/cron/job-actions.ts'
import { defineRoutes } from '../route.ts'
import { jobsQuery, jobsResponse } from '../shapes/jobs.ts'

const route = defineRoutes('Scheduled jobs')

export const listJobs = route('GET', '/api/jobs', {
  summary: 'Lists the jobs, the next one first.',
  query: jobsQuery,
  response: jobsResponse,
  async handle({ opened }, { query }) {
    const { pageOfJobs } = await import('../handlers/jobs.ts')
    const { handleJobRequest } = await import('../../flows/cron/job-services.ts')
    return pageOfJobs(await handleJobRequest(opened.cron, { action: 'list' }), query)
  },
})

export const changeJobs = route('POST', '/api/jobs', {
  summary: 'Creates or changes a job.',
  body: jobActionSchema,
  response: jobsResponse,
  async handle({ opened }, { body }) {
    const { handleJobRequest } = await import('../../flows/cron/job-services.ts')
    return Response.json(await handleJobRequest(opened.cron, body))
  },
})
