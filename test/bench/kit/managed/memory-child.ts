/**
 * Makes many managed calls in a separate process with two observers. Prints the memory after the first tenth and at
 * the end, and the number of lost events: `node memory-child.ts <calls> <in flight> <pace>`. With the pace `turn` the
 * asynchronous observer and the tool take one turn of the event loop for each event.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMiddleware } from '../../../../src/middleware/middleware.ts'
import { heapUsed } from '../gc.ts'
import { rssMbOf } from '../proc.ts'
import { rewritten, times, tool } from './workload.ts'

const [calls = '0', inFlight = '1', pace = 'at once'] = process.argv.slice(2)
const middleware = createMiddleware({ log: silentLog })
const seen = { atOnce: 0, later: 0 }
middleware.registerSubscriber('counts', () => {
  seen.atOnce += 1
})
middleware.registerSubscriber('counts later', async () => {
  if (pace === 'turn') await turn()
  else await undefined
  seen.later += 1
})
times(4, (step) => middleware.registerIntercept(`r${step}`, 'tool_request', ({ args }) => rewritten(args, step)))
times(4, (step) => middleware.registerIntercept(`w${step}`, 'tool_execution', async (_call, next) => await next()))

const handler: typeof tool = async (args) => {
  if (pace === 'turn') await turn()
  return tool(args)
}

async function run(count: number): Promise<void> {
  let left = count
  const worker = async () => {
    for (let done = 0; left > 0; done++) {
      left -= 1
      await middleware.tool({ toolName: 'read_file', toolCallId: 'call-1', args: { path: 'x', limit: left }, handler })
      if (done % 100 === 99) await turn()
    }
  }
  await Promise.all(times(Number(inFlight), worker))
  await middleware.flush()
}

const memoryMb = async () => ({ heap: (await heapUsed()) / 2 ** 20, rss: rssMbOf(process.pid) })
await run(Number(calls) / 10)
const early = await memoryMb()
await run(Number(calls) * 0.9)
const late = await memoryMb()
const { delivered, dropped, waiting } = middleware.eventCounts()
const undelivered = 2 * Number(calls) - Math.min(seen.atOnce, seen.later)
process.stdout.write(JSON.stringify({ early, late, delivered, lost: Math.max(dropped + waiting, undelivered) }))
