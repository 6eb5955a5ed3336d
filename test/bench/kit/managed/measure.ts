/**
 * Measures variants of a call in separate processes, so that one variant does not affect the compiled code of another.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { daemonFlags } from '../children.ts'
import type { WayName } from './ways.ts'
import type { Workload } from './workload.ts'

export type Asked = Partial<Workload> & { readonly way: WayName }

export interface Effort {
  /** Per round. */
  readonly calls: number
  readonly rounds: number
}

/**
 * CPU time of a call in the best round of `processes` processes, µs, for each variant. The variants run alternately,
 * so that other load of the machine affects all of them.
 */
export async function bestOf(
  asked: readonly (Asked & Effort)[],
  processes: number,
  progress: (line: string) => void,
): Promise<number[]> {
  const best = asked.map(() => Number.POSITIVE_INFINITY)
  for (let pass = 1; pass <= processes; pass++) {
    progress(`processes ${pass} of ${processes}`)
    for (const [index, { calls, rounds, ...workload }] of asked.entries()) {
      const us = Number(await run('child.ts', [JSON.stringify(workload), String(calls), String(rounds)]))
      best[index] = Math.min(best[index] ?? us, us)
    }
  }
  return best
}

const heldSchema = z.object({ heap: z.number(), rss: z.number() })
const steadySchema = z.object({ early: heldSchema, late: heldSchema, delivered: z.number(), lost: z.number() })

/** The memory after a tenth of the calls and at the end, MB, with the flags of the daemon. */
export async function steady(
  calls: number,
  inFlight: number,
  pace: 'turn' | 'at once',
): Promise<z.infer<typeof steadySchema>> {
  const text = await run('steady-child.ts', [String(calls), String(inFlight), pace], daemonFlags())
  return steadySchema.parse(JSON.parse(text))
}

async function run(file: string, args: readonly string[], flags: readonly string[] = []): Promise<string> {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, path, ...args])
  return stdout
}
