/**
 * Measures one variant of a call in a separate process and prints the CPU time of a call in its best round, µs: `node
 * child.ts <workload> <calls> <rounds>`. The work of observers is included.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { isVariantName, variants } from './variants.ts'
import { type Variant, workloadSchema } from './workload.ts'

const [text = '{}', calls = '1', rounds = '1'] = process.argv.slice(2)
const workload = workloadSchema.parse(JSON.parse(text))
if (!isVariantName(workload.variant)) throw new Error(`unknown variant ${workload.variant}`)
const createVariant = await variants[workload.variant]()
const variant = await createVariant(workload)

/** The event loop turns after this number of calls, as in a real process. */
const callsEachTurn = 100

let best = Number.POSITIVE_INFINITY
for (let round = 0; round < Number(rounds) + 2; round++) {
  const us = await roundOf(variant, Number(calls))
  // The first two rounds are for the compiler.
  if (round > 1) best = Math.min(best, us)
}
process.stdout.write(String(best))
// Some native modules keep threads that never end.
process.exit()

async function roundOf({ call, flushed }: Variant, count: number): Promise<number> {
  const before = process.cpuUsage()
  for (let done = 0; done < count; done += callsEachTurn) {
    for (let within = 0; within < callsEachTurn; within++) await call()
    await turn()
  }
  await flushed()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}
