/**
 * A managed call that nobody listens to, over the bare call.
 */
import { createManagedCalls } from '../../../src/middleware/managed.ts'
import type { Figure } from '../figure.ts'
import { median } from '../kit/stats.ts'

const calls = 100_000

export const managed: Figure = {
  name: 'managed',
  about: 'a managed tool call with no listener over the bare call',
  async measure({ full }) {
    const managedCalls = createManagedCalls()
    const args = { path: 'notes.txt', limit: 20 }
    const handler = async ({ limit }: typeof args) => limit
    const bare = () => handler(args)
    const through = () =>
      managedCalls.tool({ sessionId: 's', turnId: 't', callId: 'c', toolName: 'read_file' }, args, handler)
    const rounds: { bare: number; through: number }[] = []
    for (let round = 0; round < (full ? 60 : 20); round++) {
      const bareFirst = round % 2 === 0
      const one = await cpuEach(bareFirst ? bare : through)
      const other = await cpuEach(bareFirst ? through : bare)
      if (round > 1) rounds.push(bareFirst ? { bare: one, through: other } : { bare: other, through: one })
    }
    const bareMedian = median(rounds.map((round) => round.bare))
    return [
      {
        name: 'managed call, no listener',
        measured: median(rounds.map((round) => round.through)),
        unit: 'µs',
        baseline: { what: 'bare call', value: bareMedian },
      },
      {
        name: 'managed call, no listener, over the bare call',
        measured: Math.max(0, median(rounds.map((round) => round.through - round.bare))),
        unit: 'µs',
        bar: 0.1,
        note: `${calls.toLocaleString('en')} calls a round`,
      },
    ]
  },
}

/** CPU of one call, µs. */
async function cpuEach(call: () => Promise<number>): Promise<number> {
  const before = process.cpuUsage()
  for (let done = 0; done < calls; done++) await call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / calls
}
