/**
 * `/api/jobs`: the scheduled jobs.
 */
import { join } from 'node:path'
import { jobActionSchema } from '../../flows/cron/job-actions.ts'
import { defineRoutes } from '../route.ts'
import { jobResultResponse, jobsQuery, jobsResponse } from '../shapes/jobs.ts'

const route = defineRoutes('Scheduled jobs')

export const listJobs = route('GET', '/api/jobs', {
  summary: 'Lists the jobs, the next one first.',
  query: jobsQuery,
  response: jobsResponse,
  async handle({ opened }, { query }) {
    const { pageOfJobs } = await import('../handlers/jobs.ts')
    return pageOfJobs(await opened.changeJobs({ action: 'list' }), query)
  },
})

export const changeJobs = route('POST', '/api/jobs', {
  summary: 'Creates or changes a job.',
  body: jobActionSchema,
  response: jobsResponse,
  handle: async ({ opened }, { body }) => Response.json(await opened.changeJobs(body)),
})

export const showJobResult = route('GET', '/api/jobs/{job_id}/result', {
  summary: 'The latest result of a job.',
  response: jobResultResponse,
  async handle({ opened, home, redact }, { params: { job_id } }) {
    const { jobs } = await opened.changeJobs({ action: 'show', job_id })
    const { readLatestOutput } = await import('../../flows/cron/job-results.ts')
    const id = jobs[0]?.id
    return { text: id === undefined ? '' : redact(await readLatestOutput(join(home.cron, 'output'), id)) }
  },
})
