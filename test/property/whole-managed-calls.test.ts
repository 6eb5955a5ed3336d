import { test } from 'node:test'
import fc from 'fast-check'
import { cases } from '../proof/managed/case.ts'
import { checkCase } from '../proof/managed/check-case.ts'

test('any combination of registrations follows the rules: results, number of runs and complete events', async () => {
  await fc.assert(fc.asyncProperty(cases, checkCase), { seed: 1, numRuns: 1_500 })
})
