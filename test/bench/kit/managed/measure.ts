/**
 * Measures variants of a call in separate processes, so that one variant does not affect the compiled code of another.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { daemonFlags } from '../../../kit/daemon-command.ts'
import type { VariantName } from './variants.ts'
import type { Workload } from './workload.ts'

export type CallVariant = Partial<Workload> & { readonly variant: VariantName }

export interface SampleSize {
  /** Per round. */
  readonly calls: number
  readonly rounds: number
}

/**
 * CPU time of a call in the best round of `processes` processes, µs, for each variant. The variants run alternately,
 * so that other load of the machine affects all of them.
 */
export async function bestCpuOf(
  variants: readonly (CallVariant & SampleSize)[],
  processes: number,
  progress: (line: string) => void,
): Promise<number[]> {
  const best = variants.map(() => Number.POSITIVE_INFINITY)
  for (let pass = 1; pass <= processes; pass++) {
    progress(`process ${pass} of ${processes}`)
    for (const [index, { calls, rounds, ...workload }] of variants.entries()) {
      const us = Number(await run('child.ts', [JSON.stringify(workload), String(calls), String(rounds)]))
      best[index] = Math.min(best[index] ?? us, us)
    }
  }
  return best
}

const memorySchema = z.object({ heap: z.number(), rss: z.number() })
const memoryResultSchema = z.object({
  early: memorySchema,
  late: memorySchema,
  delivered: z.number(),
  lost: z.number(),
})

/** The memory after a tenth of the calls and at the end, MB, with the flags of the daemon. */
export async function measureMemory(
  calls: number,
  inFlight: number,
  pace: 'turn' | 'at once',
): Promise<z.infer<typeof memoryResultSchema>> {
  const text = await run('memory-child.ts', [String(calls), String(inFlight), pace], daemonFlags)
  return memoryResultSchema.parse(JSON.parse(text))
}

async function run(file: string, args: readonly string[], flags: readonly string[] = []): Promise<string> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, path, ...args])
  return stdout
}
