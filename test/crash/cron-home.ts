/**
 * A home with scheduled jobs, whose gateway is killed while they run.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { testChatGateway } from './chat-gateway.ts'

interface JobRecord {
  readonly id: string
  readonly state?: string
  readonly repeat: { readonly completed: number }
  readonly last_status: string
}

type Job = Readonly<Record<string, unknown>> & { readonly id: string }

/** The model answers with the id of the job. */
export async function createCronHome(t: TestContext) {
  const test = await testChatGateway(t, ({ lastUserText }) => ({
    text: `There is news of ${/job \w+/.exec(lastUserText)?.[0]}.`,
    delayMs: 1,
  }))
  const { home, gateway } = test
  const file = join(home, 'cron', 'jobs.json')
  for (const folder of ['cron', 'scripts']) mkdirSync(join(home, folder))
  const readJobs = (): readonly JobRecord[] => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).jobs : [])
  const rows = (sql: string) => {
    const database = new DatabaseSync(join(home, 'state.db'), { readOnly: true })
    try {
      return database.prepare(sql).all()
    } finally {
      database.close()
    }
  }
  return {
    ...test,
    rows,
    addJob(job: Job) {
      const jobs = [...readJobs(), { prompt: `Look at job ${job.id}`, deliver: 'all', ...job }]
      writeFileSync(file, JSON.stringify({ jobs }))
    },
    /** Read after the stop of a gateway, which brings the file up to date. */
    record(id: string): JobRecord {
      const found = readJobs().find((job) => job.id === id)
      assert.ok(found, `${id} is missing in jobs.json`)
      return found
    },
    /** Resolves when no run is open any more. A message may arrive before a crash, and the run go on after the restart. */
    untilIdle: () =>
      gateway.untilTrue(
        'the end of the runs',
        () => rows('select 1 from cron_jobs where slot is not null').length === 0,
      ),
    /** A schedule and a time that was missed: the job runs at once. */
    missed: () => ({
      schedule: { kind: 'interval', minutes: 60, display: 'every 1h' },
      next_run_at: new Date(Date.now() - 150 * 60_000).toISOString(),
    }),
  }
}
