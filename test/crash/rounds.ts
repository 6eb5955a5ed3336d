/**
 * Crash tests that share gateways: the gateway that a test restarted is the one that the next test kills. This halves the
 * number of starts.
 */
import { after, before, describe, test } from 'node:test'
import { createScenario, type KillPoint, type Scenario, type ScenarioOptions } from './scenario.ts'

export interface Round {
  readonly name: string
  readonly point: KillPoint
  /** Called before the users write. */
  prepare?(home: string): Promise<void>
}

/** These run with `npm test`. All others are in the files `*.full.test.ts`. */
export const usualPoints: readonly string[] = ['inbox:committed', 'tool:effect-done', 'outbox:accepted']

/** Registers a test for each round, in two homes that are independent of each other if there are many. */
export function testRounds(rounds: readonly Round[], options?: ScenarioOptions): void {
  const homes = rounds.length < 6 ? ['one home'] : ['the first home', 'the second home']
  for (const [index, part] of homes.entries())
    describe(part, { concurrency: 1 }, () => {
      let scenario: Scenario
      before(async () => {
        scenario = await createScenario({ isShort: true, ...options })
      })
      after(() => scenario.dispose())
      for (const { name, point, prepare } of rounds.filter((_, number) => number % homes.length === index))
        test(name, async () => {
          await prepare?.(scenario.home)
          await scenario.kill(point, 1)
        })
      test('nothing was sent later without a label', () => scenario.finish())
    })
}
