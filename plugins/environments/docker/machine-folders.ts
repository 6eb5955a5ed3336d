/**
 * Which folders of this machine a container sees, and where its commands start.
 */
import { mkdir, stat } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { type EnvironmentRequest, HermesError } from '#sdk'
import type { Machine } from '../shared/machine.ts'
import { containerDirectory, workspacePath } from '../shared/working-directory.ts'
import type { DockerSettings } from './arguments.ts'

type Request = Pick<EnvironmentRequest<DockerSettings>, 'settings' | 'cwd' | 'home' | 'log'>

/**
 * The folder of this machine that becomes /workspace; undefined where none does.
 * @throws HermesError terminal/no-folder, environment/container-failed
 */
export async function mountedDirectory(
  { settings, cwd, home }: Request,
  { userHome }: Pick<Machine, 'userHome'>,
): Promise<string | undefined> {
  if (!settings.docker_mount_cwd_to_workspace) return undefined
  const workspace = join(home, 'workspace')
  const directory = cwd === '' ? workspace : resolve(userHome, cwd.replace(/^~(?=$|\/)\/?/, ''))
  if (directory === workspace) await mkdir(workspace, { recursive: true, mode: 0o700 })
  // Its keys and its database would be files of the container.
  if (isWithin(home, directory)) {
    const detail = `${directory} contains the home of the gateway (${home}) and cannot be mounted. Set \`terminal.cwd\` to another folder.`
    throw new HermesError('environment/container-failed', detail)
  }
  const stats = await stat(directory).catch(() => undefined)
  if (stats?.isDirectory() !== true) throw new HermesError('terminal/no-folder', `It is ${directory}.`)
  return directory
}

function isWithin(path: string, directory: string): boolean {
  const below = relative(directory, path)
  return below === '' || (!below.startsWith('..') && !below.startsWith('/'))
}

/** Where commands start. */
export function workingDirectory(request: Request): string {
  return request.settings.docker_mount_cwd_to_workspace ? workspacePath : containerDirectory(request)
}

/** Flags with which a container is no longer separated from this machine. */
const openingFlags =
  /^(?:-v|--volume|--mount|--privileged|--cap-add|--device|--pid|--ipc|--userns|--security-opt|--uts|--cgroupns|--volumes-from|(?:--network|--net)(?:=|$))/

/** Whether commands can change what is outside of the container, so that dangerous ones must be approved. */
export function reachesMachine(settings: DockerSettings): boolean {
  const isWritable = (volume: string) => {
    const [source = '', , mode = ''] = volume.split(':')
    const isFolder = /^[/~.]/.test(source)
    return isFolder && (!mode.split(',').includes('ro') || source.endsWith('.sock'))
  }
  return (
    settings.docker_mount_cwd_to_workspace ||
    settings.docker_volumes.some(isWritable) ||
    settings.docker_extra_args.some((argument) => openingFlags.test(argument) && argument !== '--network=none')
  )
}
