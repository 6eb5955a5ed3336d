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

/** Registers a test for each round, in two homes that are independent of each other. */
export function testRounds(rounds: readonly Round[], options?: ScenarioOptions): void {
  for (const [index, part] of ['the first home', 'the second home'].entries())
    describe(part, { concurrency: 1 }, () => {
      let scenario: Scenario
      before(async () => {
        scenario = await createScenario({ isShort: true, ...options })
      })
      after(() => scenario.dispose())
      for (const { name, point, prepare } of rounds.filter((_, number) => number % 2 === index))
        test(name, async () => {
          await prepare?.(scenario.home)
          await scenario.kill(point, 1)
        })
      test('nothing was sent later without a label', () => scenario.finish())
    })
}
