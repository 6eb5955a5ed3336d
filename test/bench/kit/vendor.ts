/**
 * The local server of a chat platform and its users in a separate process.
 */
import { z } from 'zod'
import { type Child, startChild } from './children.ts'
import type { VendorName } from './vendors.ts'

export interface BenchVendor {
  readonly name: VendorName
  /** The configuration of an account. */
  readonly options: Readonly<Record<string, string>>
  /** Resolves when all turns are answered. Times are ms from the message to the reply. */
  load(load: VendorLoad): Promise<Loaded>
}

export interface VendorLoad {
  /** Users who write at the same time. */
  readonly chats: number
  readonly turns: number
  /** Delay between a reply and the next message. */
  readonly pauseMs: number
  /** The next load continues the conversations of these users instead of starting new ones. */
  readonly isContinued?: boolean
  /** What each message says. Default: its number. */
  readonly text?: string | undefined
}

export interface Loaded {
  readonly ms: number
  readonly p50: number
  readonly p99: number
  /** The API calls of the bot per turn. */
  readonly callsPerTurn: number
}

const loadedSchema = z.object({ ms: z.number(), p50: z.number(), p99: z.number(), next: z.number(), calls: z.number() })

/** Each user is replaced by another after this number of turns, so that no request grows long. */
const perSession = 10

/** Runs `work` with the local server of a chat platform. */
export async function withVendor<T>(name: VendorName, work: (vendor: BenchVendor) => Promise<T>): Promise<T> {
  const child = await startChild('./vendor-child.ts', { args: [name] })
  try {
    const options = await child.request('options', {}, z.record(z.string(), z.string()))
    return await work({ name, options, load: loading(child) })
  } finally {
    await child.kill()
  }
}

/** Runs `work` with several local servers, in the order of the names. */
export function withVendors<T>(
  [name, ...others]: readonly VendorName[],
  work: (vendors: readonly BenchVendor[]) => Promise<T>,
): Promise<T> {
  if (name === undefined) return work([])
  return withVendor(name, (vendor) => withVendors(others, (rest) => work([vendor, ...rest])))
}

/** The `platforms` section of a configuration that allows all users. */
export function platformsConfig(vendors: readonly BenchVendor[]): string {
  const sections = vendors.map(({ name, options }) => [name, { enabled: true, allow_all_users: true, ...options }])
  return platformsSection(Object.fromEntries(sections))
}

export function platformsSection(platforms: Readonly<Record<string, object>>): string {
  // The users are guests, because they are not listed by id.
  const roles = { guest: { tools: ['*'], group_tools: ['*'] } }
  return `platforms: ${JSON.stringify(platforms)}\nroles: ${JSON.stringify(roles)}\n`
}

function loading(child: Child): BenchVendor['load'] {
  let first = 1
  return async ({ isContinued = false, ...load }) => {
    const { next, calls, ...times } = await child.request('load', { ...load, first, perSession }, loadedSchema)
    if (!isContinued) first = next
    return { ...times, callsPerTurn: calls / load.turns }
  }
}
