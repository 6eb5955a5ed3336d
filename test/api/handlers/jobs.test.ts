import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pageOfJobs } from '../../../src/api/handlers/jobs.ts'
import { jobsQuery } from '../../../src/api/shapes/jobs.ts'
import { parseInput } from '../../../src/lib/read-shape.ts'

const about = { name: '', prompt: '', schedule_display: '', state: 'scheduled', deliver: 'local' }
const job = (id: string, next_run_at: string | null) => ({ id, next_run_at, ...about })
const stored = {
  ok: true,
  action: 'list',
  jobs: [
    job('never', null),
    job('b', '2026-11-23T12:00:00+00:00'),
    job('first', '2026-11-23T12:30:00+01:00'),
    job('a', '2026-11-23T12:00:00Z'),
  ],
}

test('pages of jobs have each job once, the next one first, also when a job is removed between them', () => {
  const query = (values: Record<string, string>) => pageOfJobs(stored, parseInput(jobsQuery, values))
  const ids = (page: ReturnType<typeof query>) => page.jobs.map(({ id }) => id)
  assert.deepEqual(ids(query({})), ['first', 'a', 'b', 'never'])
  const one = query({ limit: '2' })
  assert.deepEqual(ids(one), ['first', 'a'])
  const without = { ...stored, jobs: stored.jobs.filter(({ id }) => id !== 'a') }
  const two = pageOfJobs(without, { limit: 2, cursor: one.next_cursor ?? '' })
  assert.deepEqual([ids(two), two.next_cursor], [['b', 'never'], null])
  assert.throws(() => query({ limit: '0' }), { code: 'http/bad-request' })
  assert.throws(() => query({ cursor: 'x' }), { code: 'http/bad-request' })
})
