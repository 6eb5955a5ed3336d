import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFileGuard } from '../../../../src/agent/command-policy/file-guard.ts'
import { createLocalEnvironment } from '../../../../src/agent/environments/local-environment.ts'
import { createLocalFiles } from '../../../../src/agent/environments/local-files.ts'
import { withFiles } from '../../../../src/agent/environments/remote/files-over-execute.ts'
import type { RemoteClient } from '../../../../src/agent/environments/remote-client.ts'
import { createRemoteEnvironment } from '../../../../src/agent/environments/remote-environment.ts'
import { createVictim, sandboxSkip } from '../../sandbox/victim.ts'
import { type ContractSubject, describeEnvironment } from './contract.ts'

const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: tmpdir() }

async function inFolder(create: (directory: string) => ContractSubject['environment']): Promise<ContractSubject> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'hermes-place-')))
  const close = () => rm(directory, { recursive: true, force: true })
  return { environment: create(directory), directory, close }
}

const local = (cwd: string) =>
  createLocalEnvironment({
    cwd,
    env,
    graceMs: 100,
    openFiles: async (resolve) =>
      createLocalFiles(
        { fileGuard: createFileGuard({ home: `${cwd}/.hermes`, userHome: cwd }), searchPath: env.PATH },
        resolve,
      ),
  })

/** A place that needs no engine: another shell of this machine. */
const shellClient = (path = env.PATH): RemoteClient => ({
  kind: 'shell',
  start: async () => undefined,
  commandLine: (script) => ({ argv: ['/bin/sh', '-c', script], env: { ...env, PATH: path } }),
  describeFailure: () => undefined,
  stop: async () => undefined,
})

const busybox = ['/usr/bin/busybox', '/bin/busybox'].find(existsSync)

describeEnvironment({ name: 'local', open: () => inFolder(local) })

describeEnvironment({
  name: 'bwrap',
  skip: await sandboxSkip(),
  async open() {
    const victim = await createVictim()
    const close = async () => void (await victim[Symbol.asyncDispose]())
    return { environment: victim.environment, directory: victim.cwd, close }
  },
})

describeEnvironment({
  name: 'remote',
  open: () => inFolder((cwd) => createRemoteEnvironment({ client: shellClient(), cwd, graceMs: 100 })),
})

describeEnvironment({
  name: 'remote, with busybox alone',
  skip: busybox === undefined && 'busybox is not installed',
  async open() {
    const bin = await mkdtemp(join(tmpdir(), 'hermes-busybox-'))
    execFileSync(busybox ?? '', ['--install', '-s', bin])
    const subject = await inFolder((cwd) => createRemoteEnvironment({ client: shellClient(bin), cwd, graceMs: 100 }))
    const close = async () => {
      await subject.close()
      await rm(bin, { recursive: true })
    }
    return { ...subject, close }
  },
})

describeEnvironment({ name: 'plugin', open: () => inFolder((cwd) => withFiles(local(cwd))) })
