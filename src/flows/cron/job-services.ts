/**
 * Jobs for the commands of chats and for the API: whose request it is, and the chat in which it was made. Loaded with the first one.
 */
import { createHash } from 'node:crypto'
import type { JobServices } from '../../commands/jobs.ts'
import type { JobMaker } from '../../cron/contract.ts'
import type { Job } from '../../cron/job.ts'
import { HermesError } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { readShape } from '../../lib/read-shape.ts'
import { type Authority, tokenAuthority } from '../../message/authority.ts'
import { type SessionSource, targetOf } from '../../message/source.ts'
import type { Cron } from './cron.ts'
import {
  type ChangedJobs,
  describeJob,
  describeJobFully,
  type JobAction,
  jobActionSchema,
  runJobAction,
} from './job-actions.ts'

/** An account other than the first is a part of the platform's name, as in targets that people write. */
export function jobMaker(source: SessionSource, authority: Authority): JobMaker {
  const { platform, account, ...rest } = targetOf(source)
  const name = account === 'default' ? platform : `${platform}/${account}`
  return {
    authority,
    origin: {
      ...rest,
      ...{ platform: name, account },
      chatName: source.chatName,
    },
  }
}

export function createJobServices(
  open: () => Promise<Pick<Cron, 'jobs'>>,
  { withhold }: Pick<JobServices, 'withhold'>,
): JobServices {
  return {
    withhold,
    async run(action, { source, authority }) {
      const { jobs } = await open()
      const result = await runJobAction(jobs, jobActionSchema.parse(action), jobMaker(source, authority))
      if (!result.ok) return result
      return {
        lines: result.jobs.flatMap((job) => (action.action === 'show' ? describeJobFully(job) : describeJob(job))),
      }
    },
  }
}

export interface AgentRequest {
  /** The chat of the turn; undefined outside of one. */
  readonly source: SessionSource | undefined
  readonly authority: Authority
  /** The key of the call: a job that it has made is found again. */
  readonly key: string
}

/** For the tool `cronjob`. The problem is a sentence for the model. Rejects `store/...`. */
export async function scheduleForAgent(
  open: () => Promise<Pick<Cron, 'jobs'>>,
  action: unknown,
  { source, authority, key }: AgentRequest,
): Promise<{ readonly jobs: readonly JsonObject[] } | { readonly problem: string }> {
  const read = readShape(jobActionSchema, action, 'the arguments')
  if (!read.ok) return read
  const maker = source === undefined ? { authority, origin: null } : jobMaker(source, authority)
  const id = createHash('sha256').update(key).digest('hex').slice(0, 12)
  const result = await runJobAction((await open()).jobs, read.value, { ...maker, newId: id })
  if (!result.ok) return result
  return { jobs: result.jobs.map(forAgent) }
}

/** What the model needs of a job. */
function forAgent({
  id,
  name,
  schedule_display,
  next_run_at,
  state,
  deliver,
  last_status,
  last_error,
}: Job): JsonObject {
  const last = last_status === '' ? {} : { last_status, ...(last_error === '' ? {} : { last_error }) }
  return { job_id: id, name, schedule: schedule_display, next_run_at, state, deliver, ...last }
}

/** A person who holds the token is the owner of the machine. */
const tokenMaker: JobMaker = { authority: tokenAuthority, origin: null }

/** Answers `POST /api/jobs`. Rejects `http/bad-request` and `store/...`. */
export async function handleJobRequest(
  open: () => Promise<Pick<Cron, 'jobs'>>,
  action: JobAction,
): Promise<ChangedJobs> {
  const result = await runJobAction((await open()).jobs, action, tokenMaker)
  if (!result.ok) throw new HermesError('http/bad-request', result.problem)
  return result
}
