/**
 * The daemon with Telegram, Discord and Slack: its start compared with one without platforms, the cost of the three,
 * and the connection time of each. The servers are local, so the network is not measured.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { startChild } from '../kit/children.ts'
import { medianOf, type StartMeasurement, startDaemon } from '../kit/daemon.ts'
import { withHome } from '../kit/home.ts'
import { median } from '../kit/stats.ts'
import { type BenchVendor, platformsConfig, withVendors } from '../kit/vendor.ts'
import { vendorNames } from '../kit/vendors.ts'

export const connect: Figure = {
  name: 'connect',
  about: 'the daemon with three platforms: ready, CPU, memory, connection times',
  measure: (options) =>
    withVendors(vendorNames, (vendors) =>
      withHome('http: { port: 0 }\n', (without) =>
        withHome(`http: { port: 0 }\n${platformsConfig(vendors)}`, async (home) => [
          ...(await threePlatforms(home, without, options)),
          ...(await eachConnecting(vendors, options)),
        ]),
      ),
    ),
}

async function threePlatforms(home: string, without: string, { full, progress }: BenchOptions): Promise<Row[]> {
  const rounds = full ? 9 : 5
  const idleMs = full ? 30_000 : 8_000
  const three: StartMeasurement[] = []
  const none: StartMeasurement[] = []
  await startDaemon(home, vendorNames, 1_000)
  await startDaemon(without, ['web'], 500)
  for (let round = 1; round <= rounds; round += 1) {
    progress(`round ${round} of ${rounds}`)
    three.push(await startDaemon(home, vendorNames, round === rounds ? idleMs : 300))
    none.push(await startDaemon(without, ['web'], round === rounds ? idleMs : 300))
  }
  const baseline = (value: number) => ({ what: 'no platform', value })
  const seconds = (all: readonly StartMeasurement[], field: keyof StartMeasurement) => medianOf(all, field) / 1_000
  const idle = (all: readonly StartMeasurement[], field: keyof StartMeasurement) => all.at(-1)?.[field] ?? Number.NaN
  return [
    {
      name: 'ready, three platforms',
      measured: seconds(three, 'readyMs'),
      unit: 's',
      bar: 1,
      baseline: baseline(seconds(none, 'readyMs')),
      note: `median of ${rounds}; all three connected after ${seconds(three, 'connectedMs').toFixed(2)} s`,
    },
    {
      name: 'CPU until three platforms are connected',
      measured: seconds(three, 'connectedCpuMs'),
      unit: 's',
      bar: 1.2,
      baseline: baseline(seconds(none, 'connectedCpuMs')),
      note: `to ready ${seconds(three, 'readyCpuMs').toFixed(2)} s`,
    },
    {
      name: 'resident memory idle, three platforms',
      measured: idle(three, 'idleRss'),
      unit: 'MB',
      bar: 165,
      baseline: baseline(idle(none, 'idleRss')),
      note: `${idleMs / 1_000} s after the last connection`,
    },
    {
      name: 'CPU while idle, per second, three platforms',
      measured: idle(three, 'idleCpuMs') / (idleMs / 1_000),
      unit: 'ms',
      baseline: baseline(idle(none, 'idleCpuMs') / (idleMs / 1_000)),
    },
  ]
}

const connectedSchema = z.object({ importMs: z.number(), connectMs: z.number() })

async function eachConnecting(vendors: readonly BenchVendor[], { full, progress }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, options } of vendors) {
    progress(`${name} alone`)
    const times: z.infer<typeof connectedSchema>[] = []
    const once = () => connectedAlone(name, options)
    await once()
    for (let round = 0; round < (full ? 9 : 3); round += 1) times.push(await once())
    rows.push({
      name: `${name}: import to connected`,
      measured: median(times.map(({ connectMs }) => connectMs)) / 1_000,
      unit: 's',
      bar: 1,
      note: `import ${median(times.map(({ importMs }) => importMs)).toFixed(0)} ms, compile cache warm`,
    })
  }
  return rows
}

async function connectedAlone(name: string, options: BenchVendor['options']) {
  const child = await startChild('./connect-child.mjs', {
    args: [JSON.stringify({ name, options })],
    env: { NODE_COMPILE_CACHE: join(tmpdir(), `hermes-bench-cache-${process.getuid?.() ?? 0}`) },
  })
  try {
    return await child.request('connect', {}, connectedSchema)
  } finally {
    await child.kill()
  }
}
