/**
 * Finds the jobs that a person may see: an owner all, others their own.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import type { Authority } from '../message/authority.ts'
import type { Store } from '../store/store.ts'
import { findJob, findJobsNamed, listJobsOf, makerOf, readAllJobs, type StoredJob } from './job-store.ts'

const maxOfPerson = 1_000
const maxNamed = 50

export function isVisible({ authority }: Pick<StoredJob, 'authority'>, by: Authority): boolean {
  return by.role === 'owner' || (makerOf(by) !== '' && makerOf(by) === makerOf(authority))
}

/** Rejects `store/...`. */
export async function listVisibleJobs(store: Pick<Store, 'run'>, by: Authority): Promise<readonly StoredJob[]> {
  if (by.role === 'owner') return await readAllJobs(store)
  return makerOf(by) === '' ? [] : await store.run(() => listJobsOf(makerOf(by), maxOfPerson))
}

/** @param name an id, or a name that only one job has. Rejects `store/...`. */
export async function findVisibleJob(
  store: Pick<Store, 'run'>,
  name: string,
  by: Authority,
): Promise<StoredJob | { readonly problem: string }> {
  const wanted = name.trim()
  if (wanted === '') return { problem: 'Name a job: its id, or its name.' }
  const byId = await store.run(() => findJob(wanted))
  if (byId !== undefined && isVisible(byId, by)) return byId
  const named = (await store.run(() => findJobsNamed(wanted, maxNamed))).filter((stored) => isVisible(stored, by))
  const [first, ...others] = named
  if (first !== undefined && others.length === 0) return first
  const ids = named.map(({ job }) => job.id).join(', ')
  if (first !== undefined) return { problem: `${named.length} jobs are called "${wanted}". Use an id: ${ids}.` }
  const jobs = await listVisibleJobs(store, by)
  const similar = findClosestMatch(
    wanted,
    jobs.flatMap(({ job }) => [job.id, job.name]),
  )
  return { problem: `There is no job "${wanted}".${similar === null ? '' : ` Did you mean "${similar}"?`}` }
}
