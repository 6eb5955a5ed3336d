import { test } from 'node:test'
import fc from 'fast-check'
import { cases } from '../proof/managed/case.ts'
import { holds } from '../proof/managed/holds.ts'

test('whatever plugins put around a call, it ends as the rules say, runs no more than they allow, and is told of whole', async () => {
  await fc.assert(fc.asyncProperty(cases, holds), { seed: 1, numRuns: 1_500 })
})
