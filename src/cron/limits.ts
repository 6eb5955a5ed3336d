/**
 * What people may schedule: owners what they want, members jobs of their own that are not too frequent, guests nothing.
 */
import type { Authority } from '../message/authority.ts'
import type { Transaction } from '../store/query.ts'
import type { JobRequest } from './contract.ts'
import { countJobs, countJobsOf, makerOf } from './job-store.ts'
import type { Schedule } from './schedule.ts'

const maxJobs = 10_000
/** Limits the jobs of a person who is not an owner. */
const maxOwnJobs = 20
export const minOwnMinutes = 5
/** So many of the next times are looked at: expressions are not regular. */
const lookedAt = 50

/** Why this person may not have such a job: a sentence; '' if it may. */
export async function scheduleProblem(
  { role }: Authority,
  schedule: Schedule | undefined,
  { script, no_agent, workdir }: JobRequest,
  now: number,
): Promise<string> {
  if (role === 'owner') return ''
  if (role === 'guest') return 'Guests cannot schedule jobs.'
  if (script || no_agent || workdir) return 'Only an owner can schedule scripts and choose directories.'
  const shortest = schedule === undefined ? undefined : await shortestGap(schedule, now)
  return shortest !== undefined && shortest < minOwnMinutes * 60_000
    ? `A job may run every ${minOwnMinutes} minutes at most.`
    : ''
}

/** ms between two of the next times on the clock; undefined for a job that runs once. A change of the clocks does not count. */
async function shortestGap(schedule: Schedule, now: number): Promise<number | undefined> {
  if (schedule.kind === 'once') return undefined
  if (schedule.kind === 'interval') return schedule.minutes * 60_000
  const { cronTimes } = await import('./cron-expression.ts')
  const times = cronTimes(schedule.expr, 'UTC')
  let shortest = Number.POSITIVE_INFINITY
  let last: number | undefined
  for (let run = 0; run < lookedAt; run++) {
    const next = times.ok ? times.next(last ?? now) : undefined
    if (next === undefined) break
    if (last !== undefined) shortest = Math.min(shortest, next - last)
    last = next
  }
  return shortest
}

/** Why this person may have no further job: a sentence; '' if it may. In the transaction that stores it. */
export function* countProblem(authority: Authority): Transaction<string> {
  if ((yield* countJobs()) >= maxJobs) return `There are ${maxJobs} jobs, the maximum. Remove some first.`
  if (authority.role === 'owner') return ''
  const count = yield* countJobsOf(makerOf(authority))
  return count >= maxOwnJobs ? `You have ${maxOwnJobs} jobs, the maximum. Remove some first.` : ''
}
