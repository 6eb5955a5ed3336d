/**
 * Kills the gateway with SIGKILL at each failpoint. One seed each; `npm run proof` runs twenty.
 */
import { describe } from 'node:test'
import { testRounds } from './rounds.ts'
import { killPoints } from './scenario.ts'

describe(
  'a kill at any failpoint loses no message, sends no duplicate without a label and keeps the order',
  {
    concurrency: 2,
  },
  () => testRounds(killPoints.map((point) => ({ name: `killed at ${point.name}`, point }))),
)
