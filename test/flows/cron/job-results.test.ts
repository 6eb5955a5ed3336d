/**
 * The results of jobs are kept as files, the newest ones.
 */
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseJob } from '../../../src/cron/job.ts'
import { readLatestOutput, writeJobOutput } from '../../../src/flows/cron/job-results.ts'
import { tempHome } from '../../kit/temp-home.ts'

const parsed = parseJob({ id: 'abcdef012345', prompt: 'work', schedule: { kind: 'interval', minutes: 60 } })
assert.ok(parsed.ok)
const noon = Date.parse('2027-01-31T12:00:00Z')
const run = (slot: number) => ({ stored: { job: parsed.job, nextRunAt: null, run: null, authority: owner }, slot })
const owner = { role: 'owner', platform: 'cli', chatType: 'dm' } as const

test('the newest results of a job are kept, as many as configured, readable by their owner alone', async (t) => {
  const outputs = join(tempHome(t), 'output')
  for (let hour = 0; hour < 5; hour += 1)
    await writeJobOutput(outputs, 2, run(noon + hour * 3_600_000), `result ${hour}`)
  const folder = join(outputs, 'abcdef012345')
  assert.deepEqual(readdirSync(folder).sort(), ['2027-01-31_15-00-00.md', '2027-01-31_16-00-00.md'])
  assert.equal(statSync(join(folder, '2027-01-31_16-00-00.md')).mode & 0o777, 0o600)
  assert.equal(await readLatestOutput(outputs, 'abcdef012345'), 'result 4')
  await writeJobOutput(outputs, 0, run(noon), 'kept')
  assert.equal(readdirSync(folder).length, 3, 'below 1 all are kept')
})

test('two runs in one second keep both results, and a run whose end is stored again keeps one', async (t) => {
  const outputs = join(tempHome(t), 'output')
  for (const text of ['first', 'second', 'second']) await writeJobOutput(outputs, 50, run(noon), text)
  assert.deepEqual(readdirSync(join(outputs, 'abcdef012345')).sort(), [
    '2027-01-31_12-00-00.md',
    '2027-01-31_12-00-00_02.md',
  ])
  assert.equal(await readLatestOutput(outputs, 'abcdef012345'), 'second')
})
