/**
 * The parameters of a measured call, the same for all variants.
 */
import { z } from 'zod'

export const workloadSchema = z.object({
  /** The variant; see `variants.ts`. */
  variant: z.string(),
  /** Steps that replace the arguments. */
  rewrites: z.number().default(0),
  /** Steps around the call. */
  wrappers: z.number().default(0),
  /** Whether an observer receives start and end events. */
  observed: z.boolean().default(false),
  /** KiB of messages in the arguments. */
  kib: z.number().default(0),
})

export type Workload = z.infer<typeof workloadSchema>

export type Args = Readonly<Record<string, unknown>>

/** One variant of a call. */
export interface Variant {
  call(): Promise<unknown>
  /** Resolves when the observers have received all events. */
  flushed(): Promise<void>
}

export type CreateVariant = (workload: Workload) => Promise<Variant> | Variant

/** Built once, before the measurement. */
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

/** The work of a rewrite in all variants. */
export function rewritten(args: Args, step: number): Args {
  return { ...args, step }
}

/** The work of the tool in all variants. */
export async function tool({ limit }: Args): Promise<unknown> {
  return limit
}

export function times<Value>(count: number, createVariant: (index: number) => Value): Value[] {
  return Array.from({ length: count }, (_, index) => createVariant(index))
}

/** Reads the name of each event. */
export function createObserver(): (event: { readonly name: string }) => void {
  const seen = { letters: 0 }
  return ({ name }) => {
    seen.letters += name.length
  }
}
