/**
 * Short commands compared with a bare node: `hermes --version`, the fixed cost of each, and `hermes status`, which reads the whole
 * configuration, and asks the daemon when one runs.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitCodes } from '../../../src/lib/exit-codes.ts'
import { daemonAllocator, daemonFlags } from '../../kit/daemon-command.ts'
import type { Figure, Row } from '../figure.ts'
import { killProcess, waitForLine } from '../kit/children.ts'
import { withHome } from '../kit/home.ts'
import { endedChildrenCpuMs } from '../kit/proc.ts'
import { median } from '../kit/stats.ts'

const main = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

export const version: Figure = {
  name: 'version',
  about: '`hermes --version` and `hermes status` compared with a bare node',
  measure: ({ full }) =>
    withHome('', (home) =>
      withHome('http: { port: 0 }\n', (served) =>
        besideDaemon(served, async () => {
          mkdirSync(join(home, 'cache'), { recursive: true })
          const runs = {
            bare: () => run(home, ['-e', '0']),
            version: () => run(home, [main, '--version']),
            status: () => run(home, [main, 'status'], exitCodes.noDaemon),
            asking: () => run(served, [main, 'status']),
          }
          for (const start of Object.values(runs)) start()
          const samples: Record<keyof typeof runs, Sample[]> = { bare: [], version: [], status: [], asking: [] }
          for (let round = 0; round < (full ? 40 : 15); round++) {
            samples.version.push(runs.version())
            samples.asking.push(runs.asking())
            samples.bare.push(runs.bare())
            samples.status.push(runs.status())
          }
          const wallOf = (each: readonly Sample[]) => median(each.map(({ ms }) => ms)) / 1_000
          const cpuOf = (each: readonly Sample[]) => each.reduce((sum, { cpu }) => sum + cpu, 0) / each.length
          const baseline = (value: number) => ({ what: 'bare node', value })
          const wall = baseline(wallOf(samples.bare))
          const cpu = baseline(cpuOf(samples.bare))
          const rows = (name: string, each: readonly Sample[], bar: number): Row[] => [
            { name, measured: wallOf(each), unit: 's', bar, baseline: wall },
            { name: `${name}, CPU`, measured: cpuOf(each), unit: 'ms', baseline: cpu },
          ]
          return [
            ...rows('hermes --version', samples.version, 0.15),
            ...rows('hermes status', samples.status, 6 * wall.value),
            ...rows('hermes status, with a daemon', samples.asking, 6 * wall.value),
          ]
        }),
      ),
    ),
}

function run(home: string, args: readonly string[], code = 0): Sample {
  const env = { PATH: process.env['PATH'], HERMES_HOME: home, HOME: home }
  const cpu = endedChildrenCpuMs()
  const begun = performance.now()
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' })
  if (status !== code) throw new Error(`node ${args.join(' ')} ended with ${status}`)
  return { ms: performance.now() - begun, cpu: endedChildrenCpuMs() - cpu }
}

async function besideDaemon<T>(home: string, work: () => Promise<T>): Promise<T> {
  const env = { PATH: process.env['PATH'], ...daemonAllocator, HERMES_HOME: home, HOME: home }
  const stdio: ['ignore', 'ignore', 'pipe'] = ['ignore', 'ignore', 'pipe']
  const daemon = spawn(process.execPath, [...daemonFlags, main, 'gateway', 'run'], { env, stdio })
  try {
    await waitForLine(daemon.stderr, '"event":"gateway.ready"')
    return await work()
  } finally {
    await killProcess(daemon)
  }
}

interface Sample {
  readonly ms: number
  readonly cpu: number
}
