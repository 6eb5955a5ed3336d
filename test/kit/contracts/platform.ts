/**
 * What every platform adapter promises, run against the real adapter and whatever stands in for its vendor.
 */
import { describe, it } from 'node:test'
import { besidePromises } from './platform/beside.ts'
import { incomingPromises } from './platform/incoming.ts'
import { lifePromises } from './platform/life.ts'
import { outgoingPromises } from './platform/outgoing.ts'
import { troublePromises } from './platform/trouble.ts'
import { lookAt, type PlatformPromise } from './platform-promise.ts'
import type { PlatformUnderTest } from './platform-under-test.ts'

export type { PlatformPromise } from './platform-promise.ts'
export type { PlatformUnderTest, SaidFile } from './platform-under-test.ts'

export const platformPromises: readonly PlatformPromise[] = [
  ...lifePromises,
  ...incomingPromises,
  ...besidePromises,
  ...outgoingPromises,
  ...troublePromises,
]

export interface PlatformContractOptions {
  /** How long one promise may take. 10 s. */
  readonly patienceMs?: number
}

/**
 * Tests of an adapter, one for each promise. What the platform under test or its adapter cannot do is skipped, and says so.
 * @param build a fresh adapter, not connected
 */
export function platformContract(
  name: string,
  build: () => Promise<PlatformUnderTest>,
  { patienceMs = 10_000 }: PlatformContractOptions = {},
): void {
  describe(`the promises of a platform: ${name}`, () => {
    for (const promised of platformPromises) {
      it(promised.name, async (t) => {
        const verdict = await lookAt(promised, build, patienceMs)
        if (verdict.state === 'skipped') return t.skip(`without ${verdict.missing.join(', ')}`)
        if (verdict.state === 'broken') throw verdict.error
      })
    }
  })
}
