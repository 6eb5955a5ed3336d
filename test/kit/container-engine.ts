/**
 * A real engine for tests of containers: docker or podman of this machine with an image that is made from busybox, without
 * the network. Podman gets a storage and settings of its own, so that the containers of the machine are not touched.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { DockerSettings } from '../../plugins/environments/docker/arguments.ts'

const run = promisify(execFile)

export interface TestEngine {
  readonly name: 'docker' | 'podman'
  /** A directory of the test, removed by `close`. */
  readonly directory: string
  /** The variables of a gateway that uses this engine. */
  readonly env: Readonly<Record<string, string>>
  readonly settings: DockerSettings
  /** Rejects when the program fails. */
  order(...args: string[]): Promise<string>
  /** The containers of this label, with their state. */
  containers(label: string): Promise<readonly { readonly id: string; readonly state: string }[]>
  close(): Promise<void>
}

export const testImage = 'localhost/hermes-gateway-test:1'

/** Undefined when this machine has no engine that runs containers; `reason` then says why. */
export async function openTestEngine(): Promise<{ readonly engine?: TestEngine; readonly reason: string }> {
  const busybox = ['/usr/bin/busybox', '/bin/busybox'].find(existsSync)
  if (busybox === undefined) return { reason: 'busybox is not installed' }
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'hermes-engine-')))
  const reasons: string[] = []
  for (const name of ['podman', 'docker'] as const) {
    const engine = await createEngine(name, directory)
    try {
      await engine.order('version')
      await importImage(engine, busybox)
      await engine.order('run', '--rm', '--network', 'none', testImage, 'true')
      return { engine, reason: '' }
    } catch (error) {
      reasons.push(`${name}: ${error instanceof Error ? (error.message.split('\n')[1] ?? error.message) : 'failed'}`)
    }
  }
  await rm(directory, { recursive: true, force: true })
  return { reason: reasons.join('; ') }
}

const names = ['PATH', 'HOME', 'XDG_RUNTIME_DIR', 'DOCKER_HOST', 'DOCKER_CONTEXT', 'DOCKER_CONFIG']

async function createEngine(name: TestEngine['name'], directory: string): Promise<TestEngine> {
  const env: Record<string, string> = {}
  for (const variable of names) if (process.env[variable] !== undefined) env[variable] = process.env[variable]
  env['PATH'] = [env['PATH'], '/usr/sbin', '/sbin'].join(delimiter)
  if (name === 'podman') Object.assign(env, await podmanFiles(directory))
  const order = async (...args: string[]) => (await run(name, args, { env, maxBuffer: 16_777_216 })).stdout
  const containers = async (label: string) => {
    const listed = await order('ps', '--all', '--filter', `label=${label}`, '--format', '{{.ID}} {{.State}}')
    return listed
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [id = '', state = ''] = line.split(' ')
        // Podman 4 says `Up 3 seconds`.
        return { id, state: state.toLowerCase() === 'up' ? 'running' : state.toLowerCase() }
      })
  }
  return {
    name,
    directory,
    env,
    settings: testSettings(name),
    order,
    containers,
    async close() {
      const left = await containers('hermes-gateway=1')
      // Podman has a storage of its own here; of docker, only the containers of this test are removed.
      if (name === 'podman' && left.length > 0) await order('rm', '--force', '--time', '0', ...left.map(({ id }) => id))
      if (name === 'podman') await order('rmi', '--force', '--all').catch(() => '')
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** The defaults of the configuration where a machine for tests can obey them. */
function testSettings(name: TestEngine['name']): DockerSettings {
  return {
    docker_binary: name,
    docker_image: testImage,
    docker_forward_env: [],
    docker_env: {},
    docker_volumes: [],
    docker_mount_cwd_to_workspace: false,
    docker_network: false,
    docker_shm_size: '64m',
    docker_run_as_host_user: false,
    docker_extra_args: [],
    docker_orphan_reaper: true,
    container_persistent: true,
    container_cpu: 1,
    container_memory: 512,
    container_disk: 0,
    lifetime_seconds: 300,
  }
}

/** Settings with which podman works in a container of its own, without the network and without its init. */
async function podmanFiles(directory: string): Promise<Record<string, string>> {
  const storage = join(directory, 'storage.conf')
  const containers = join(directory, 'containers.conf')
  const runtime = existsSync('/usr/sbin/runc') || existsSync('/usr/bin/runc') ? 'runtime = "runc"' : ''
  const folder = (name: string) => JSON.stringify(join(directory, name))
  await writeFile(storage, `[storage]\ndriver = "vfs"\ngraphroot = ${folder('graph')}\nrunroot = ${folder('run')}\n`)
  await writeFile(
    containers,
    `[containers]\nnetns = "none"\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\n[engine]\n${runtime}\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\ntmp_dir = ${folder('tmp')}\n`,
  )
  return { CONTAINERS_CONF: containers, CONTAINERS_STORAGE_CONF: storage }
}

async function importImage(engine: TestEngine, busybox: string): Promise<void> {
  const root = join(engine.directory, 'root')
  await rm(root, { recursive: true, force: true })
  for (const folder of ['bin', 'etc', 'tmp', 'root', 'proc', 'sys', 'dev', 'workspace'])
    await mkdir(join(root, folder), { recursive: true })
  await copyFile(busybox, join(root, 'bin', 'busybox'))
  const { stdout } = await run(busybox, ['--list'])
  for (const applet of stdout.split('\n'))
    if (applet !== '' && applet !== 'busybox') await symlink('busybox', join(root, 'bin', applet))
  await writeFile(join(root, 'etc', 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  const archive = join(engine.directory, 'root.tar')
  await run('tar', ['-C', root, '-cf', archive, '.'])
  await engine.order('import', '--change', 'ENV PATH=/usr/bin:/bin', archive, testImage)
  await rm(archive)
  await rm(root, { recursive: true })
}
