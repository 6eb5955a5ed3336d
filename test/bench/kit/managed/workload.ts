/**
 * What goes through a call that is measured, the same for everybody who is measured.
 */
import { z } from 'zod'

export const workloadSchema = z.object({
  /** Who carries the call: see `ways.ts`. */
  way: z.string(),
  /** Steps that replace the arguments. */
  rewrites: z.number().default(0),
  /** Steps around the call. */
  wrappers: z.number().default(0),
  /** Whether somebody hears of each start and each end. */
  observed: z.boolean().default(false),
  /** KiB of messages in the arguments. */
  kib: z.number().default(0),
})

export type Workload = z.infer<typeof workloadSchema>

export type Args = Readonly<Record<string, unknown>>

/** One way of making a call. */
export interface Way {
  call(): Promise<unknown>
  /** Resolves when whoever watches has heard of everything. */
  heard(): Promise<void>
}

export type WayMaker = (workload: Workload) => Promise<Way> | Way

/** Built once, outside of what is timed. */
export function argsOf({ kib }: Workload): Args {
  const small = { path: 'notes.txt', limit: 20 }
  if (kib === 0) return small
  const content = 'x'.repeat(2_048)
  const messages = Array.from({ length: kib / 2 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index}${content}`.slice(0, 2_048),
  }))
  return { ...small, messages }
}

/** What a rewrite does, in all ways. */
export function rewritten(args: Args, step: number): Args {
  return { ...args, step }
}

/** What the tool does, in all ways. */
export async function tool({ limit }: Args): Promise<unknown> {
  return limit
}

export function times<Value>(count: number, make: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** Looks at each event, and no further. */
export function createObserver(): (event: { readonly name: string }) => void {
  const seen = { letters: 0 }
  return ({ name }) => {
    seen.letters += name.length
  }
}
