/**
 * Short commands compared with a bare node: `hermes --version`, the fixed cost of each, and `hermes status`, which reads the whole
 * configuration.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitCodes } from '../../../src/lib/exit-codes.ts'
import type { Figure } from '../figure.ts'
import { withHome } from '../kit/home.ts'
import { endedChildrenCpuMs } from '../kit/proc.ts'
import { median } from '../kit/stats.ts'

const main = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

export const version: Figure = {
  name: 'version',
  about: '`hermes --version` and `hermes status` compared with a bare node',
  measure: ({ full }) =>
    withHome('', async (home) => {
      mkdirSync(join(home, 'cache'), { recursive: true })
      const env = { PATH: process.env['PATH'], HERMES_HOME: home, HOME: home }
      const run = (args: readonly string[], code = 0) => {
        const cpu = endedChildrenCpuMs()
        const begun = performance.now()
        const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' })
        if (status !== code) throw new Error(`node ${args.join(' ')} ended with ${status}`)
        return { ms: performance.now() - begun, cpu: endedChildrenCpuMs() - cpu }
      }
      const runs = {
        bare: () => run(['-e', '0']),
        version: () => run([main, '--version']),
        status: () => run([main, 'status'], exitCodes.noDaemon),
      }
      runs.version()
      runs.status()
      const bare = []
      const ours = []
      const states = []
      for (let round = 0; round < (full ? 40 : 15); round++) {
        ours.push(runs.version())
        bare.push(runs.bare())
        states.push(runs.status())
      }
      const wallOf = (samples: readonly Sample[]) => median(samples.map(({ ms }) => ms)) / 1_000
      const cpuOf = (samples: readonly Sample[]) => samples.reduce((sum, { cpu }) => sum + cpu, 0) / samples.length
      const baseline = (value: number) => ({ what: 'bare node', value })
      const wall = baseline(wallOf(bare))
      const cpu = baseline(cpuOf(bare))
      return [
        { name: 'hermes --version', measured: wallOf(ours), unit: 's', bar: 0.15, baseline: wall },
        { name: 'hermes --version, CPU', measured: cpuOf(ours), unit: 'ms', baseline: cpu },
        { name: 'hermes status', measured: wallOf(states), unit: 's', bar: 6 * wall.value, baseline: wall },
        { name: 'hermes status, CPU', measured: cpuOf(states), unit: 'ms', baseline: cpu },
      ]
    }),
}

interface Sample {
  readonly ms: number
  readonly cpu: number
}
