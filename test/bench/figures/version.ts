/**
 * `hermes --version`: the fixed cost of every short command.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Figure } from '../figure.ts'
import { withHome } from '../kit/home.ts'
import { endedChildrenCpuMs } from '../kit/proc.ts'
import { median } from '../kit/stats.ts'

const main = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

export const version: Figure = {
  name: 'version',
  about: '`hermes --version` compared with a bare node',
  measure: ({ full }) =>
    withHome('', async (home) => {
      mkdirSync(join(home, 'cache'), { recursive: true })
      const env = { PATH: process.env['PATH'], HERMES_HOME: home, HOME: home }
      const run = (args: readonly string[]) => {
        const cpu = endedChildrenCpuMs()
        const begun = performance.now()
        const { status } = spawnSync(process.execPath, args, { env, stdio: 'ignore' })
        if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
        return { ms: performance.now() - begun, cpu: endedChildrenCpuMs() - cpu }
      }
      run([main, '--version'])
      const ours = []
      const bare = []
      for (let round = 0; round < (full ? 40 : 15); round++) {
        ours.push(run([main, '--version']))
        bare.push(run(['-e', '0']))
      }
      const cpuOf = (runs: readonly { cpu: number }[]) => runs.reduce((sum, { cpu }) => sum + cpu, 0) / runs.length
      return [
        {
          name: 'hermes --version',
          measured: median(ours.map(({ ms }) => ms)) / 1_000,
          unit: 's',
          bar: 0.15,
          baseline: { what: 'bare node', value: median(bare.map(({ ms }) => ms)) / 1_000 },
        },
        {
          name: 'hermes --version, CPU',
          measured: cpuOf(ours),
          unit: 'ms',
          baseline: { what: 'bare node', value: cpuOf(bare) },
        },
      ]
    }),
}
