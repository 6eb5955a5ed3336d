/**
 * Kills `hermes batch run`. `batch.full.test.ts` also kills the gateway that it uses.
 */
import assert from 'node:assert/strict'
import { appendFileSync, existsSync } from 'node:fs'
import { test } from 'node:test'
import { batchHome, kill, prompts, readIds } from './batch-home.ts'

test('a batch that is killed with its gateway continues: every prompt has one result, and no answered prompt is asked again', async (t) => {
  const batch = await batchHome(t)
  const first = batch.start()
  await batch.untilHeld()
  await kill(first)
  assert.deepEqual(readIds(batch.out), ['alpha', 'bravo'])
  // The kill may tear the line that is being written.
  appendFileSync(batch.out, '{"id":"charlie","li')
  appendFileSync(batch.trajectories, '{"prompt_ind')
  batch.release()
  const second = batch.start()
  assert.deepEqual([await second.exit(), second.errors().includes('cli/')], [0, false], second.errors())
  assert.deepEqual(readIds(batch.out), prompts)
  assert.deepEqual(readIds(batch.trajectories), prompts)
  // The answers of two were lost with the gateway.
  assert.deepEqual(batch.calls(), [1, 1, 2, 2, 1, 1])
  assert.equal(existsSync(`${batch.out}.lock`), false)
})
