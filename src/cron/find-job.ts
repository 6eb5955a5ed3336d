/**
 * Finds the jobs that a person may see: an owner all, others their own.
 */
import { findClosestMatch } from '../lib/did-you-mean.ts'
import type { Authority } from '../message/authority.ts'
import type { Store } from '../store/store.ts'
import { findJob, readAllJobs, type StoredJob } from './job-store.ts'

export function isVisible({ authority }: Pick<StoredJob, 'authority'>, by: Authority): boolean {
  if (by.role === 'owner') return true
  return by.userId !== undefined && by.userId === authority.userId && by.platform === authority.platform
}

/** Rejects `store/...`. */
export async function listVisibleJobs(store: Pick<Store, 'run'>, by: Authority): Promise<readonly StoredJob[]> {
  return (await readAllJobs(store)).filter((stored) => isVisible(stored, by))
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
  const jobs = await listVisibleJobs(store, by)
  const named = jobs.filter(({ job }) => job.name.toLowerCase() === wanted.toLowerCase())
  const [first, ...others] = named
  if (first !== undefined && others.length === 0) return first
  const ids = named.map(({ job }) => job.id).join(', ')
  if (first !== undefined) return { problem: `${named.length} jobs are called "${wanted}". Use an id: ${ids}.` }
  const similar = findClosestMatch(
    wanted,
    jobs.flatMap(({ job }) => [job.id, job.name]),
  )
  return { problem: `There is no job "${wanted}".${similar === undefined ? '' : ` Did you mean "${similar}"?`}` }
}
