/**
 * A process that asks a gateway for `/healthz` all the time and measures how long its event loop is held: the processor time
 * that the main thread of the gateway uses between a question and its answer. It stays the same on a busy machine.
 *
 *     node prober.ts <url> <process id of the gateway>
 */
import { readFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

export interface ProbeResult {
  /** Processor time of the main thread during the longest answer, ms. */
  readonly cpuMs: number
  /** The longest answer, ms. */
  readonly wallMs: number
  readonly answers: number
  readonly failures: number
}

const intervalMs = 4
const [url = '', pid = ''] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const empty: ProbeResult = { cpuMs: 0, wallMs: 0, answers: 0, failures: 0 }
let current = empty

// A late look at the clock would count work after the answer. Only root may do this.
try {
  setPriority(-20)
} catch {
  process.stderr.write('The figures are less exact without the right to raise the priority.\n')
}

// Each message asks for the result since the last one.
process.on('message', () => {
  process.send?.(current)
  current = empty
})
process.on('disconnect', () => process.exit(0))

for (;;) {
  const startedAt = performance.now()
  const before = cpuMs()
  const isAnswered = await ask()
  const cpu = cpuMs() - before
  const wall = performance.now() - startedAt
  current = {
    cpuMs: Math.max(current.cpuMs, cpu),
    wallMs: Math.max(current.wallMs, wall),
    answers: current.answers + (isAnswered ? 1 : 0),
    failures: current.failures + (isAnswered ? 0 : 1),
  }
  await pause(intervalMs)
}

/** Linux only; elsewhere 0, and only the time of the answer is known. */
function cpuMs(): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000
  } catch {
    return 0
  }
}

function ask(): Promise<boolean> {
  return new Promise((resolve) => {
    get(`${url}/healthz`, { agent }, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode === 200))
    }).once('error', () => resolve(false))
  })
}
