/**
 * One promise of a platform: what it needs of the platform under test, and how it is checked.
 */
import { stat } from 'node:fs/promises'
import { within } from '../../../src/lib/wait.ts'
import type { OutboundMessage } from '../../../src/message/outbound.ts'
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { PlatformUnderTest } from './platform-under-test.ts'

export interface PlatformPromise {
  /** A sentence that an operator would care about. */
  readonly name: string
  /** What the platform under test does not have, so that the promise cannot be looked at; empty where it has all. */
  missing(platform: PlatformUnderTest): readonly string[]
  /** Rejects where the promise is broken. */
  check(platform: PlatformUnderTest): Promise<void>
}

type OptionalKeys<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Key : never }[keyof T]
/** What a platform under test may have. */
type Hand = OptionalKeys<PlatformUnderTest>
/** What an adapter may have. */
type Ability = OptionalKeys<PlatformAdapter>
type Equipped<H extends Hand, A extends Ability> = PlatformUnderTest &
  Required<Pick<PlatformUnderTest, H>> & { readonly adapter: PlatformAdapter & Required<Pick<PlatformAdapter, A>> }

interface PromiseText<H extends Hand, A extends Ability> {
  readonly name: string
  /** Of the platform under test. */
  readonly needs?: readonly H[]
  /** Of its adapter. */
  readonly abilities?: readonly A[]
  /** True: the check begins with an adapter that has not connected yet. */
  readonly fresh?: boolean
  check(platform: Equipped<H, A>): Promise<void>
}

/** The check gets a platform that has what the promise needs, connected and looked on unless `fresh`. */
export function promise<H extends Hand = never, A extends Ability = never>(text: PromiseText<H, A>): PlatformPromise {
  const { name, needs = [], abilities = [], fresh = false } = text
  const missing = (platform: PlatformUnderTest) => [
    ...needs.filter((need) => platform[need] === undefined),
    ...abilities.filter((ability) => platform.adapter[ability] === undefined).map((ability) => `adapter.${ability}`),
  ]
  const isEquipped = (platform: PlatformUnderTest): platform is Equipped<H, A> => missing(platform).length === 0
  return {
    name,
    missing,
    async check(platform) {
      if (!isEquipped(platform)) throw new Error(`it needs ${missing(platform).join(', ')}`)
      if (!fresh) {
        await platform.adapter.connect(never)
        await platform.lookOn?.()
      }
      await text.check(platform)
    },
  }
}

/** What became of a promise. */
export type PromiseVerdict =
  | { readonly state: 'kept' }
  | { readonly state: 'skipped'; readonly missing: readonly string[] }
  | { readonly state: 'broken'; readonly error: unknown }

/** Looks at one promise of a platform that it builds, and takes the platform down. Rejects as `build` and `close` do. */
export async function lookAt(
  promised: PlatformPromise,
  build: () => Promise<PlatformUnderTest>,
  patienceMs: number,
): Promise<PromiseVerdict> {
  const platform = await build()
  try {
    const missing = promised.missing(platform)
    return missing.length > 0 ? { state: 'skipped', missing } : await verdictOn(promised, platform, patienceMs)
  } finally {
    await platform.close()
  }
}

async function verdictOn(
  promised: PlatformPromise,
  platform: PlatformUnderTest,
  patienceMs: number,
): Promise<PromiseVerdict> {
  try {
    const result = await within(promised.check(platform), patienceMs)
    if (result.done) return { state: 'kept' }
    return { state: 'broken', error: new Error(`waited in vain for ${patienceMs} ms`) }
  } catch (error) {
    return { state: 'broken', error }
  }
}

/** A signal that never aborts. */
export const never = new AbortController().signal

export function messageTo(target: Target, text: string, deliveryId = 'delivery'): OutboundMessage {
  return { deliveryId, target, text, kind: 'reply', turnId: 'turn' }
}

/** Lets everything that is on its way arrive: for what must not happen. Each round goes through another thread. */
export async function idle(): Promise<void> {
  for (let round = 0; round < 400; round += 1) await stat('/')
}
