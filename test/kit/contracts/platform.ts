/**
 * The platform contract: promises of every platform adapter, checked with the real adapter and a local server.
 */
import { describe, it } from 'node:test'
import { albumRequirements } from './platform/albums.ts'
import { failureRequirements } from './platform/failures.ts'
import { inboundRequirements } from './platform/inbound.ts'
import { interactionRequirements } from './platform/interactions.ts'
import { lifecycleRequirements } from './platform/lifecycle.ts'
import { outboundRequirements } from './platform/outbound.ts'
import { checkRequirement, type PlatformRequirement } from './platform-requirement.ts'
import { type DeprecatedCapabilities, type PlatformUnderTest, withCurrentNames } from './platform-under-test.ts'

export type { PlatformRequirement } from './platform-requirement.ts'
export type { PlatformUnderTest, UserFile } from './platform-under-test.ts'

export const platformRequirements: readonly PlatformRequirement[] = [
  ...lifecycleRequirements,
  ...inboundRequirements,
  ...interactionRequirements,
  ...outboundRequirements,
  ...albumRequirements,
  ...failureRequirements,
]

export interface PlatformContractOptions {
  /** Time limit of one promise. Default: 10,000. */
  readonly timeoutMs?: number
}

/**
 * Registers one test for each promise. A promise whose capabilities are missing is skipped, with their names.
 * @param build creates a new platform whose adapter is not connected
 */
export function platformContract(
  name: string,
  build: () => Promise<PlatformUnderTest & DeprecatedCapabilities>,
  { timeoutMs = 10_000 }: PlatformContractOptions = {},
): void {
  describe(`platform contract: ${name}`, () => {
    for (const requirement of platformRequirements) {
      it(requirement.name, async (t) => {
        const result = await checkRequirement(requirement, async () => withCurrentNames(await build()), timeoutMs)
        if (result.state === 'skipped') return t.skip(`without ${result.missing.join(', ')}`)
        if (result.state === 'broken') throw result.error
      })
    }
  })
}
