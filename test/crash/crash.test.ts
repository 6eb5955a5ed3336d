/**
 * The process is killed with SIGKILL at each named point of the route. One seed each; `npm run proof` lives twenty.
 */
import { describe, test } from 'node:test'
import { killPoints, live } from './life.ts'

describe('killed at any point, the gateway loses nothing, doubles nothing silently and keeps the order', {
  concurrency: 2,
}, () => {
  for (const point of killPoints) test(`killed at ${point.name}`, () => live(point, 1))
})
