/**
 * From the start of the process to ready, as `npm start` does it, and the memory of the idle daemon, compared with a
 * bare node and a bare fastify.
 */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { measureStart, medianOf, type StartMeasurement, startDaemon } from '../kit/daemon.ts'
import { withHome } from '../kit/home.ts'

const fastify = fileURLToPath(new URL('../kit/bare-fastify.mjs', import.meta.url))

export const start: Figure = {
  name: 'start',
  about: 'ready, CPU to ready, idle memory; web platform only',
  measure: (options) => withHome('http: { port: 0 }\n', (home) => measured(home, options)),
}

async function measured(home: string, { full, progress }: BenchOptions): Promise<Row[]> {
  const rounds = full ? 9 : 5
  // The daemon gives the memory of its start back after five seconds.
  const idleMs = full ? 30_000 : 8_000
  const warm: StartMeasurement[] = []
  const fresh: StartMeasurement[] = []
  const uncached: StartMeasurement[] = []
  const node: StartMeasurement[] = []
  const bare: StartMeasurement[] = []
  const daemon = (idle: number) => startDaemon(home, ['web'], idle)
  await daemon(500)
  for (let round = 0; round < rounds; round++) {
    progress(`round ${round + 1} of ${rounds}`)
    const last = round === rounds - 1
    warm.push(await daemon(last ? idleMs : 300))
    node.push(
      await measureStart(['-e', 'process.stderr.write("ready\\n");setTimeout(()=>{},1e6)'], {}, 'ready', [], 300),
    )
    bare.push(await measureStart([fastify], {}, 'ready', [], 300))
    if (round >= 3) continue
    rmSync(join(home, 'cache'), { recursive: true, force: true })
    fresh.push(await daemon(500))
    uncached.push(await startDaemon(home, ['web'], 500, { NODE_DISABLE_COMPILE_CACHE: '1' }))
  }
  const of = medianOf
  const idle = warm.at(-1)
  const versus = (field: keyof StartMeasurement, divisor = 1) => ({
    what: 'bare fastify',
    value: of(bare, field) / divisor,
  })
  const seconds = (ms: number) => ms / 1_000
  return [
    {
      name: 'ready, compile cache warm',
      measured: seconds(of(warm, 'readyMs')),
      unit: 's',
      bar: 0.45,
      baseline: versus('readyMs', 1_000),
      note: `median of ${rounds}; bare node ${seconds(of(node, 'readyMs')).toFixed(3)} s`,
    },
    {
      name: 'ready, first start in a new home',
      measured: seconds(of(fresh, 'readyMs')),
      unit: 's',
      bar: 0.8,
      baseline: versus('readyMs', 1_000),
      note: `${of(fresh, 'idleRss').toFixed(1)} MB idle; the installation has the compile cache`,
    },
    {
      name: 'ready, no compile cache',
      measured: seconds(of(uncached, 'readyMs')),
      unit: 's',
      bar: 0.8,
      baseline: versus('readyMs', 1_000),
    },
    {
      name: 'CPU to ready',
      measured: seconds(of(warm, 'readyCpuMs')),
      unit: 's',
      bar: 0.5,
      baseline: versus('readyCpuMs', 1_000),
      note: `until the web platform is connected ${seconds(of(warm, 'connectedCpuMs')).toFixed(2)} s; without the cache ${seconds(of(uncached, 'readyCpuMs')).toFixed(2)} s to ready`,
    },
    {
      name: 'resident memory idle',
      measured: idle?.idleRss ?? Number.NaN,
      unit: 'MB',
      bar: 100,
      baseline: versus('idleRss'),
      note: `${idleMs / 1_000} s after ready; bare node ${of(node, 'idleRss').toFixed(1)} MB; without the cache ${of(uncached, 'idleRss').toFixed(1)} MB`,
    },
    {
      name: 'CPU while idle, per second',
      measured: (idle?.idleCpuMs ?? Number.NaN) / (idleMs / 1_000),
      unit: 'ms',
      note: 'from the moment the platforms have connected',
    },
  ]
}
