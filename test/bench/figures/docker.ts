/**
 * One command in a container, compared with the engine's own `exec` in the same container. Skipped where no engine runs.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createDockerKind } from '../../../plugins/environments/docker/kind.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { openTestEngine, type TestEngine } from '../../kit/container-engine.ts'
import { openEnvironment, toRequest } from '../../kit/environment-kind.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'
import { median } from '../kit/stats.ts'

const run = promisify(execFile)
const name = 'command in a container, beyond the exec of the engine, p50'

export const docker: Figure = {
  name: 'docker',
  about: 'one command in a container of docker or podman',
  async measure(options) {
    const { engine, reason } = await openTestEngine()
    if (engine === undefined) return [{ name, unit: 'ms', bar: 120, note: `no engine: ${reason}` }]
    try {
      return [await compare(engine, options)]
    } finally {
      await engine.close()
    }
  },
}

async function compare(engine: TestEngine, { full, progress }: BenchOptions): Promise<Row> {
  const home = join(engine.directory, 'home')
  const environment = openEnvironment(
    createDockerKind(),
    toRequest({
      sessionId: 'bench',
      cwd: '',
      settings: engine.settings,
      gatewayEnv: engine.env,
      variables: {},
      withheld: [],
      home,
      stateDirectory: join(home, 'state'),
      attachmentsDirectory: join(home, 'media'),
      log: silentLog,
    }),
  )
  const signal = new AbortController().signal
  const command = () => environment.execute('echo one', { timeoutMs: 60_000, signal, maxOutputBytes: 1_000 })
  try {
    await command()
    const [container] = await engine.containers('hermes-gateway=1')
    const own: number[] = []
    const bare: number[] = []
    const rounds = full ? 100 : 30
    progress(`${rounds} commands each`)
    for (let round = 0; round < rounds; round += 1) {
      own.push(await timed(command))
      const args = ['exec', container?.id ?? '', 'sh', '-c', 'echo one']
      bare.push(await timed(() => run(engine.name, args, { env: engine.env })))
    }
    return {
      name,
      measured: median(own) - median(bare),
      unit: 'ms',
      bar: 120,
      baseline: { what: `${engine.name} exec`, value: median(bare) },
      note: `with ${engine.name}: ${median(own).toFixed(0)} ms, alone ${median(bare).toFixed(0)} ms; medians of ${rounds}, in turn`,
    }
  } finally {
    await environment.cleanup()
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
