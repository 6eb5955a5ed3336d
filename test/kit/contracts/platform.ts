/**
 * What every platform adapter promises, run against the real adapter and whatever stands in for its vendor.
 */
import { describe, it } from 'node:test'
import { failureRequirements } from './platform/failures.ts'
import { inboundRequirements } from './platform/inbound.ts'
import { interactionRequirements } from './platform/interactions.ts'
import { lifecycleRequirements } from './platform/lifecycle.ts'
import { outboundRequirements } from './platform/outbound.ts'
import { checkRequirement, type PlatformRequirement } from './platform-requirement.ts'
import type { PlatformUnderTest } from './platform-under-test.ts'

export type { PlatformRequirement } from './platform-requirement.ts'
export type { PlatformUnderTest, UserFile } from './platform-under-test.ts'

export const platformRequirements: readonly PlatformRequirement[] = [
  ...lifecycleRequirements,
  ...inboundRequirements,
  ...interactionRequirements,
  ...outboundRequirements,
  ...failureRequirements,
]

export interface PlatformContractOptions {
  /** How long one promise may take. 10 s. */
  readonly timeoutMs?: number
}

/**
 * Tests of an adapter, one for each promise. What the platform under test or its adapter cannot do is skipped, and says so.
 * @param build a fresh adapter, not connected
 */
export function platformContract(
  name: string,
  build: () => Promise<PlatformUnderTest>,
  { timeoutMs: patienceMs = 10_000 }: PlatformContractOptions = {},
): void {
  describe(`the promises of a platform: ${name}`, () => {
    for (const requirement of platformRequirements) {
      it(requirement.name, async (t) => {
        const result = await checkRequirement(requirement, build, patienceMs)
        if (result.state === 'skipped') return t.skip(`without ${result.missing.join(', ')}`)
        if (result.state === 'broken') throw result.error
      })
    }
  })
}
