/**
 * One promise of a platform: what it needs of the platform under test, and how it is checked.
 */
import { stat } from 'node:fs/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformUnderTest } from './platform-under-test.ts'

export interface PlatformRequirement {
  /** A sentence that an operator would care about. */
  readonly name: string
  /** What the platform under test does not have, so that the promise cannot be looked at; empty where it has all. */
  missing(platform: PlatformUnderTest): readonly string[]
  /** Rejects where the promise is broken. */
  check(platform: PlatformUnderTest): Promise<void>
}

type OptionalKeys<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Key : never }[keyof T]
/** What a platform under test may have. */
type Capability = OptionalKeys<PlatformUnderTest>
/** What an adapter may have. */
type AdapterCapability = OptionalKeys<PlatformAdapter>
type WithCapabilities<H extends Capability, A extends AdapterCapability> = PlatformUnderTest &
  Required<Pick<PlatformUnderTest, H>> & { readonly adapter: PlatformAdapter & Required<Pick<PlatformAdapter, A>> }

interface RequirementSpec<H extends Capability, A extends AdapterCapability> {
  readonly name: string
  /** Of the platform under test. */
  readonly needs?: readonly H[]
  /** Of its adapter. */
  readonly adapterNeeds?: readonly A[]
  /** True: the check begins with an adapter that has not connected yet. */
  readonly startsDisconnected?: boolean
  check(platform: WithCapabilities<H, A>): Promise<void>
}

/** The check gets a platform that has what the promise needs, connected and looked on unless `fresh`. */
export function requirement<H extends Capability = never, A extends AdapterCapability = never>(
  text: RequirementSpec<H, A>,
): PlatformRequirement {
  const { name, needs = [], adapterNeeds = [], startsDisconnected = false } = text
  const missing = (platform: PlatformUnderTest) => [
    ...needs.filter((need) => platform[need] === undefined),
    ...adapterNeeds.filter((ability) => platform.adapter[ability] === undefined).map((ability) => `adapter.${ability}`),
  ]
  const isEquipped = (platform: PlatformUnderTest): platform is WithCapabilities<H, A> => missing(platform).length === 0
  return {
    name,
    missing,
    async check(platform) {
      if (!isEquipped(platform)) throw new Error(`it needs ${missing(platform).join(', ')}`)
      if (!startsDisconnected) {
        await platform.adapter.connect(neverAborted)
        await platform.openChat?.()
      }
      await text.check(platform)
    },
  }
}

/** What became of a promise. */
export type RequirementResult =
  | { readonly state: 'kept' }
  | { readonly state: 'skipped'; readonly missing: readonly string[] }
  | { readonly state: 'broken'; readonly error: unknown }

/** Looks at one promise of a platform that it builds, and takes the platform down. Rejects as `build` and `close` do. */
export async function checkRequirement(
  requirementToCheck: PlatformRequirement,
  build: () => Promise<PlatformUnderTest>,
  timeoutMs: number,
): Promise<RequirementResult> {
  const platform = await build()
  try {
    const missing = requirementToCheck.missing(platform)
    return missing.length > 0 ? { state: 'skipped', missing } : await resultOf(requirementToCheck, platform, timeoutMs)
  } finally {
    await platform.close()
  }
}

async function resultOf(
  requirementToCheck: PlatformRequirement,
  platform: PlatformUnderTest,
  timeoutMs: number,
): Promise<RequirementResult> {
  try {
    const result = await withTimeout(requirementToCheck.check(platform), timeoutMs)
    if (result.done) return { state: 'kept' }
    return { state: 'broken', error: new Error(`waited in vain for ${timeoutMs} ms`) }
  } catch (error) {
    return { state: 'broken', error }
  }
}

/** A signal that never aborts. */
export const neverAborted = new AbortController().signal

export function messageTo(target: Target, text: string, deliveryId = 'delivery'): OutboundMessage {
  return { deliveryId, target, text, kind: 'reply', turnId: 'turn' }
}

/** Lets everything that is on its way arrive: for what must not happen. Each round goes through another thread. */
export async function settleIo(): Promise<void> {
  for (let round = 0; round < 400; round += 1) await stat('/')
}
