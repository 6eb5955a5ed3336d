/**
 * Kills the gateway with SIGKILL at a failpoint of each kind. `crash.full.test.ts` has all others.
 */
import { describe } from 'node:test'
import { testRounds, usualPoints } from './rounds.ts'
import { killPoints } from './scenario.ts'

const points = killPoints.filter(({ name }) => usualPoints.includes(name))

describe('a kill loses no message, sends no duplicate without a label and keeps the order', () =>
  testRounds(points.map((point) => ({ name: `killed at ${point.name}`, point }))))
