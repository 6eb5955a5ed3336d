/**
 * A chat product and its people, in a process of their own.
 */
import { z } from 'zod'
import { type Child, startChild } from './children.ts'
import type { VendorName } from './vendors.ts'

export interface BenchVendor {
  readonly name: VendorName
  /** What an account must be configured with. */
  readonly options: Readonly<Record<string, string>>
  /** Resolves when all turns are answered; times are ms, from writing to the answer. */
  load(load: VendorLoad): Promise<Loaded>
}

export interface VendorLoad {
  /** People who write at the same time. */
  readonly chats: number
  readonly turns: number
  /** Between an answer and the next message. */
  readonly pauseMs: number
  /** The next load continues the conversation of these people instead of starting new ones. */
  readonly isContinued?: boolean
}

export interface Loaded {
  readonly ms: number
  readonly p50: number
  readonly p99: number
  /** What the bot has called meanwhile, per turn. */
  readonly callsPerTurn: number
}

const loadedSchema = z.object({ ms: z.number(), p50: z.number(), p99: z.number(), next: z.number(), calls: z.number() })

/** Each person is replaced by another after so many turns, so that no request grows long. */
const perSession = 10

/** Runs `work` beside the local server of a chat product. */
export async function withVendor<T>(name: VendorName, work: (vendor: BenchVendor) => Promise<T>): Promise<T> {
  const child = await startChild('./vendor-child.ts', { args: [name] })
  try {
    const options = await child.ask('options', {}, z.record(z.string(), z.string()))
    return await work({ name, options, load: loading(child) })
  } finally {
    await child.kill()
  }
}

/** Runs `work` beside the local servers of several, in the order of the names. */
export function withVendors<T>(
  [name, ...others]: readonly VendorName[],
  work: (vendors: readonly BenchVendor[]) => Promise<T>,
): Promise<T> {
  if (name === undefined) return work([])
  return withVendor(name, (vendor) => withVendors(others, (rest) => work([vendor, ...rest])))
}

/** The section `platforms` of a configuration, on which everybody may talk to the agent. */
export function platformsConfig(vendors: readonly BenchVendor[]): string {
  const sections = vendors.map(({ name, options }) => [name, { enabled: true, allow_all_users: true, ...options }])
  return `platforms: ${JSON.stringify(Object.fromEntries(sections))}\n`
}

function loading(child: Child): BenchVendor['load'] {
  let first = 1
  return async ({ isContinued = false, ...load }) => {
    const { next, calls, ...times } = await child.ask('load', { ...load, first, perSession }, loadedSchema)
    if (!isContinued) first = next
    return { ...times, callsPerTurn: calls / load.turns }
  }
}
