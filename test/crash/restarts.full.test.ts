/**
 * Restarts while messages are in progress, a few of each kind. `npm run proof -- --only restarts` runs a hundred.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { keepsInnocents, runRestarts } from '../proof/restarts.ts'

describe('restarts', { concurrency: 2 }, () => {
  test('four messages are answered although the process is killed four times while they wait for the model', async () => {
    const result = await runRestarts({ kind: 'kill', count: 4, messages: 4, seed: 1 })
    assert.ok(keepsInnocents(result), JSON.stringify(result))
  })

  test('of four messages, the one that ends the process becomes a dead letter, and the others are answered', async () => {
    const result = await runRestarts({ kind: 'culprit', count: 12, messages: 4, seed: 1 })
    assert.ok(keepsInnocents(result), JSON.stringify(result))
  })
})
