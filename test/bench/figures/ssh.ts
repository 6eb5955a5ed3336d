/**
 * The own overhead of a command over ssh, compared with the command line of ssh over the same shared connection.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createSshKind } from '../../../plugins/environments/ssh/kind.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { openEnvironment, toRequest } from '../../kit/environment-kind.ts'
import { sshdSkip, startSshd } from '../../kit/servers/sshd.ts'
import type { BenchOptions, Figure, Row } from '../figure.ts'

const barMs = 15
const name = 'what a command over ssh adds to `ssh -S control host true`, p50'

async function measureSsh({ full }: BenchOptions): Promise<Row[]> {
  const skip = sshdSkip()
  if (skip !== false) return [{ name, unit: 'ms', bar: barMs, note: skip }]
  const directory = mkdtempSync(join(tmpdir(), 'bench-ssh-'))
  await using sshd = await startSshd()
  const signal = new AbortController().signal
  const environment = openEnvironment(
    createSshKind({ program: ['ssh', '-F', 'none'] }),
    toRequest({
      sessionId: 'bench',
      cwd: directory,
      settings: {
        ssh_host: '127.0.0.1',
        ssh_user: sshd.user,
        ssh_port: sshd.port,
        ssh_key: sshd.key,
        ssh_host_keys: 'strict',
        ssh_known_hosts: sshd.knownHosts,
        ssh_cwd: '',
      },
      gatewayEnv: { PATH: process.env['PATH'], HOME: directory },
      ...{ variables: {}, withheld: [], home: directory, attachmentsDirectory: directory, log: silentLog },
      stateDirectory: directory,
    }),
  )
  try {
    const request = { timeoutMs: 60_000, signal, maxOutputBytes: 1_000 }
    const { exitCode, output } = await environment.execute('true', request)
    if (exitCode !== 0) throw new Error(`the command failed: ${output}`)
    const socket = join(directory, 'ssh', readdirSync(join(directory, 'ssh'))[0] ?? '')
    const plain = () =>
      new Promise((resolve) => {
        spawn('ssh', ['-F', 'none', '-S', socket, '--', '127.0.0.1', 'true'], { stdio: 'ignore' }).once(
          'close',
          resolve,
        )
      })
    const samples = { plain: [] as number[], command: [] as number[] }
    // Alternating, so that the load of the machine affects both.
    for (let round = 0; round < (full ? 200 : 40); round++) {
      for (const way of ['plain', 'command'] as const) {
        const start = performance.now()
        await (way === 'plain' ? plain() : environment.execute('true', request))
        samples[way].push(performance.now() - start)
      }
    }
    const [line, command] = [median(samples.plain), median(samples.command)]
    return [
      {
        name,
        measured: command - line,
        unit: 'ms',
        bar: barMs,
        baseline: { what: 'the command line', value: line },
      },
    ]
  } finally {
    await environment.cleanup()
    rmSync(directory, { recursive: true, force: true })
  }
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

export const ssh: Figure = {
  name: 'ssh',
  about: 'a command over ssh against the command line of ssh',
  measure: measureSsh,
}
