/**
 * One promise of the platform contract: the capabilities that it needs, and its check.
 */
import { stat } from 'node:fs/promises'
import { withTimeout } from '../../../src/lib/timers.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformUnderTest } from './platform-under-test.ts'

export interface PlatformRequirement {
  /** The promise as a sentence. */
  readonly name: string
  /** Capabilities that the platform under test lacks. The promise is skipped unless the list is empty. */
  missing(platform: PlatformUnderTest): readonly string[]
  /** Rejects if the promise is broken. */
  check(platform: PlatformUnderTest): Promise<void>
}

type OptionalKeys<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Key : never }[keyof T]
/** Optional capabilities of a platform under test. */
type Capability = OptionalKeys<PlatformUnderTest>
/** Optional methods of an adapter. */
type AdapterCapability = OptionalKeys<PlatformAdapter>
type WithCapabilities<H extends Capability, A extends AdapterCapability> = PlatformUnderTest &
  Required<Pick<PlatformUnderTest, H>> & { readonly adapter: PlatformAdapter & Required<Pick<PlatformAdapter, A>> }

interface RequirementSpec<H extends Capability, A extends AdapterCapability> {
  readonly name: string
  /** Capabilities of the platform under test. */
  readonly needs?: readonly H[]
  /** Methods of its adapter. */
  readonly adapterNeeds?: readonly A[]
  /** True: the check starts before `connect`. */
  readonly startsDisconnected?: boolean
  check(platform: WithCapabilities<H, A>): Promise<void>
}

/** The check receives a connected platform with the required capabilities. With `startsDisconnected` it is not connected. */
export function requirement<H extends Capability = never, A extends AdapterCapability = never>(
  spec: RequirementSpec<H, A>,
): PlatformRequirement {
  const { name, needs = [], adapterNeeds = [], startsDisconnected = false } = spec
  const missing = (platform: PlatformUnderTest) => [
    ...needs.filter((need) => platform[need] === undefined),
    ...adapterNeeds.filter((method) => platform.adapter[method] === undefined).map((method) => `adapter.${method}`),
  ]
  const hasCapabilities = (platform: PlatformUnderTest): platform is WithCapabilities<H, A> =>
    missing(platform).length === 0
  return {
    name,
    missing,
    async check(platform) {
      if (!hasCapabilities(platform)) throw new Error(`missing capabilities: ${missing(platform).join(', ')}`)
      if (!startsDisconnected) {
        await platform.adapter.connect(neverAborted)
        await platform.openChat?.()
      }
      await spec.check(platform)
    },
  }
}

/** The result of checking a promise. */
export type RequirementResult =
  | { readonly state: 'kept' }
  | { readonly state: 'skipped'; readonly missing: readonly string[] }
  | { readonly state: 'broken'; readonly error: unknown }

/** Builds a platform, checks one promise and closes the platform. Rejects if `build` or `close` rejects. */
export async function checkRequirement(
  promise: PlatformRequirement,
  build: () => Promise<PlatformUnderTest>,
  timeoutMs: number,
): Promise<RequirementResult> {
  const platform = await build()
  try {
    const missing = promise.missing(platform)
    return missing.length > 0 ? { state: 'skipped', missing } : await resultOf(promise, platform, timeoutMs)
  } finally {
    await platform.close()
  }
}

async function resultOf(
  promise: PlatformRequirement,
  platform: PlatformUnderTest,
  timeoutMs: number,
): Promise<RequirementResult> {
  try {
    const result = await withTimeout(promise.check(platform), timeoutMs)
    if (result.done) return { state: 'kept' }
    return { state: 'broken', error: new Error(`timed out after ${timeoutMs} ms`) }
  } catch (error) {
    return { state: 'broken', error }
  }
}

/** A signal that never aborts. */
export const neverAborted: AbortSignal = new AbortController().signal

export function messageTo(target: Target, text: string, deliveryId = 'delivery'): OutboundMessage {
  return { deliveryId, target, text, kind: 'reply', turnId: 'turn' }
}

/**
 * Waits until pending I/O has finished; for checks that something does not happen. Each round goes through the thread
 * pool.
 */
export async function settleIo(): Promise<void> {
  for (let round = 0; round < 400; round += 1) await stat('/')
}
