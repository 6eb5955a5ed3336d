/**
 * Kills the gateway with SIGKILL at each failpoint. One seed each; `npm run proof` runs twenty.
 */
import { describe, test } from 'node:test'
import { killPoints, runScenario } from './scenario.ts'

describe('a kill at any failpoint loses no message, sends no duplicate without a label and keeps the order', {
  concurrency: 2,
}, () => {
  for (const point of killPoints) test(`killed at ${point.name}`, () => runScenario(point, 1))
})
