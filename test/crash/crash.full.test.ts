/**
 * Kills the gateway with SIGKILL at each failpoint that `crash.test.ts` leaves out. One seed each; `npm run proof` runs
 * twenty.
 */
import { describe } from 'node:test'
import { testRounds, usualPoints } from './rounds.ts'
import { killPoints } from './scenario.ts'

const points = killPoints.filter(({ name }) => !usualPoints.includes(name))

describe(
  'a kill at any failpoint loses no message, sends no duplicate without a label and keeps the order',
  {
    concurrency: 2,
  },
  () => testRounds(points.map((point) => ({ name: `killed at ${point.name}`, point }))),
)
