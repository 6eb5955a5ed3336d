/**
 * The package as npm installs it, beside the sources of the checkout: start, memory, short commands and size.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packGateway } from '../../kit/packed-gateway.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { medianOf, type StartMeasurement, startDaemon } from '../kit/daemon.ts'
import { withHome } from '../kit/home.ts'
import { endedChildrenCpuMs } from '../kit/proc.ts'
import { median } from '../kit/stats.ts'

const sources = fileURLToPath(new URL('../../../src/main.mjs', import.meta.url))

export const packageFigure: Figure = {
  name: 'package',
  about: 'the installed package beside the sources: start, memory, size',
  async measure(options) {
    const folder = mkdtempSync(join(tmpdir(), 'hermes-bench-package-'))
    try {
      options.progress('packing and installing')
      const { archive, folder: installed, main } = await packGateway(folder)
      const sizes = [
        { name: 'package, archive', unit: 'MB', measured: statSync(archive).size / 2 ** 20 },
        { name: 'package, installed', unit: 'MB', measured: sizeMb(installed) },
      ] as const
      return [...(await starts(main, options)), ...sizes]
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Side {
  readonly main: string
  readonly home: string
  readonly warm: StartMeasurement[]
  readonly first: StartMeasurement[]
  readonly version: number[]
}

function sideOf(main: string, home: string): Side {
  return { main, home, warm: [], first: [], version: [] }
}

function sizeMb(folder: string): number {
  return Number(spawnSync('du', ['-sk', folder], { encoding: 'utf8' }).stdout.split('\t')[0]) / 1_024
}

/** Each round measures both, the first one first in every other round. Each side has a home of its own. */
function starts(main: string, { full, progress }: BenchOptions): Promise<Row[]> {
  return withHome('http: { port: 0 }\n', (home) =>
    withHome('http: { port: 0 }\n', async (otherHome) => {
      const own = sideOf(main, home)
      const other = sideOf(sources, otherHome)
      const sides = [own, other]
      const rounds = full ? 12 : 6
      for (let round = 0; round < rounds; round++) {
        progress(`round ${round + 1} of ${rounds}`)
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
          rmSync(join(side.home, 'cache'), { recursive: true, force: true })
          side.first.push(await startDaemon(side.home, ['web'], 500, {}, side.main))
          side.warm.push(await startDaemon(side.home, ['web'], full ? 10_000 : 2_000, {}, side.main))
          side.version.push(versionCpuMs(side.main, side.home))
        }
      }
      const row = (name: string, unit: Row['unit'], of: (side: Side) => number): Row => {
        return { name: `package, ${name}`, unit, measured: of(own), baseline: { what: 'sources', value: of(other) } }
      }
      return [
        row('ready', 's', ({ warm }) => medianOf(warm, 'readyMs') / 1_000),
        row('CPU to ready', 'ms', ({ warm }) => medianOf(warm, 'readyCpuMs')),
        row('CPU to ready, first start in a new home', 'ms', ({ first }) => medianOf(first, 'readyCpuMs')),
        row('resident memory idle', 'MB', ({ warm }) => medianOf(warm, 'idleRss')),
        row('hermes --version, CPU', 'ms', ({ version }) => median(version)),
      ]
    }),
  )
}

function versionCpuMs(main: string, home: string): number {
  const before = endedChildrenCpuMs()
  const env = { PATH: process.env['PATH'], HERMES_HOME: home, HOME: home }
  for (let run = 0; run < 5; run++) spawnSync(process.execPath, [main, '--version'], { env, stdio: 'ignore' })
  return (endedChildrenCpuMs() - before) / 5
}
