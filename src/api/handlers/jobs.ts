/**
 * `GET /api/jobs`: pages of the scheduled jobs.
 */
import { z } from 'zod'
import { type jobsQuery, jobsResponse } from '../shapes/jobs.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'

const list = ['jobs']
/** Comes after every time. */
const never = '~'

/** The next job first; a job that never runs again comes last. Throws `http/bad-request`. */
export function pageOfJobs(
  response: unknown,
  { limit, cursor }: z.output<typeof jobsQuery>,
): z.output<typeof jobsResponse> {
  const after = decodeCursor(list, cursor, z.tuple([z.string(), z.string()]))
  const { jobs, ...rest } = jobsResponse.parse(response)
  const places = new Map(jobs.map((job) => [job, [toTime(job.next_run_at), job.id] as const]))
  const placeOf = (job: (typeof jobs)[number]) => places.get(job) ?? ['', '']
  const following = jobs
    .filter((job) => after === undefined || compare(placeOf(job), after) > 0)
    .sort((a, b) => compare(placeOf(a), placeOf(b)))
  const page = limit === undefined ? following : following.slice(0, limit)
  const last = page.length < following.length ? page.at(-1) : undefined
  return { ...rest, jobs: page, next_cursor: last === undefined ? null : encodeCursor(list, [...placeOf(last)]) }
}

/** In UTC, so that texts can be compared. */
function toTime(text: string | null): string {
  const at = text === null ? Number.NaN : Date.parse(text)
  return Number.isNaN(at) ? never : new Date(at).toISOString()
}

function compare([at, id]: readonly string[], [otherAt, otherId]: readonly string[]): number {
  const isBefore = at === otherAt ? (id ?? '') < (otherId ?? '') : (at ?? '') < (otherAt ?? '')
  return isBefore ? -1 : at === otherAt && id === otherId ? 0 : 1
}
