/**
 * The command line that creates a container: its limits, its rights, its folders and its labels (contract S11).
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isClientVariable } from '../shared/client-program.ts'
import type { Machine } from '../shared/machine.ts'
import { containerSettings } from '../shared/settings.ts'
import { workspacePath } from '../shared/working-directory.ts'

/** The keys of `terminal` that this kind reads. The configuration of the gateway has their defaults. */
export const dockerSettings = z.object({
  ...containerSettings.shape,
  docker_binary: z.string(),
  docker_image: z.string(),
  docker_env: z.record(z.string(), z.string()),
  /** `/on/this/machine:/in/the/container[:ro]`. */
  docker_volumes: z.array(z.string()),
  docker_mount_cwd_to_workspace: z.boolean(),
  docker_shm_size: z.string(),
  docker_run_as_host_user: z.boolean(),
  docker_extra_args: z.array(z.string()),
  docker_orphan_reaper: z.boolean(),
  /** MB; 0 for no limit. */
  container_disk: z.number(),
  lifetime_seconds: z.number(),
})

export type DockerSettings = z.output<typeof dockerSettings>

/** The home and the conversation to which a container belongs. */
export interface ContainerOwner {
  /** Names the home of the gateway, on whichever machine. */
  readonly home: string
  readonly profile: string
  /** The conversation; `shared` for the container of all conversations. */
  readonly conversation: string
}

/** The part of the arguments that an engine may be unable to obey. */
export type OptionalPart = 'init' | 'disk' | 'limits'

export interface ContainerPlan {
  readonly settings: DockerSettings
  readonly owner: ContainerOwner
  /** Absolute directories of this machine, which exist. Undefined: they live in memory. */
  readonly folders: { readonly workspace: string; readonly home: string } | undefined
  /** The directory of this machine that becomes /workspace (`docker_mount_cwd_to_workspace`). */
  readonly mountedCwd: string | undefined
  /** Files of the conversations: a directory of this machine, and where commands find it. */
  readonly attachments: { readonly source: string; readonly target: string }
  readonly machine: Pick<Machine, 'platform' | 'userHome' | 'user'>
}

/** Marks every container of any gateway. */
export const gatewayLabel = 'hermes-gateway=1'

export const labelNames = {
  home: 'hermes-gateway.home',
  profile: 'hermes-gateway.profile',
  conversation: 'hermes-gateway.conversation',
  /** `yes`: it is stopped and started again; `no`: it is removed. */
  keep: 'hermes-gateway.keep',
  /** A hash of everything that cannot be changed after the creation. */
  plan: 'hermes-gateway.plan',
} as const

/** The labels that all containers of one home and profile have. */
export function ownLabels({ home, profile }: Pick<ContainerOwner, 'home' | 'profile'>): string[] {
  return [gatewayLabel, `${labelNames.home}=${home}`, `${labelNames.profile}=${profile}`]
}

/** Waits, ends at SIGTERM, and collects the zombies of commands, also where the engine has no init. */
const mainScript = "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"

const pidsLimit = 256

/** `create` of the plan, without the labels that name it. */
export function planArguments(plan: ContainerPlan, without: ReadonlySet<OptionalPart>): string[] {
  const { settings } = plan
  const { platform, user } = plan.machine
  const limits = [
    ...['--pids-limit', String(pidsLimit)],
    ...(settings.container_cpu > 0 ? ['--cpus', String(settings.container_cpu)] : []),
    ...(settings.container_memory > 0 ? ['--memory', `${settings.container_memory}m`] : []),
  ]
  const disk =
    settings.container_disk > 0 && platform !== 'darwin' ? ['--storage-opt', `size=${settings.container_disk}m`] : []
  const hasSharedMemory = settings.docker_shm_size !== '' && settings.docker_shm_size !== '0'
  return [
    ...['--cap-drop', 'ALL', '--cap-add', 'DAC_OVERRIDE', '--cap-add', 'CHOWN', '--cap-add', 'FOWNER'],
    ...['--security-opt', 'no-new-privileges'],
    ...(without.has('init') ? [] : ['--init']),
    ...(without.has('limits') ? [] : limits),
    ...(without.has('disk') ? [] : disk),
    ...(hasSharedMemory ? ['--shm-size', settings.docker_shm_size] : []),
    ...(settings.docker_network ? [] : ['--network', 'none']),
    ...(settings.docker_run_as_host_user && user !== undefined ? ['--user', `${user.uid}:${user.gid}`] : []),
    ...['--tmpfs', '/tmp:rw,exec,nosuid,mode=1777,size=512m'],
    ...folderArguments(plan),
    // The client finds the values in its own environment, because everybody on the machine sees command lines.
    ...Object.entries(settings.docker_env).flatMap(([name, value]) => [
      '--env',
      isClientVariable(name) ? `${name}=${value}` : name,
    ]),
    ...['--workdir', workspacePath, '--entrypoint', 'sh'],
    ...settings.docker_extra_args,
  ]
}

function folderArguments({ settings, folders, mountedCwd, attachments, machine }: ContainerPlan): string[] {
  const volumes = settings.docker_volumes.map((volume) => expandHome(volume, machine))
  const targets = new Set(volumes.map(targetOf))
  const mount = (source: string, target: string, mode = '') =>
    targets.has(target) ? [] : ['--volume', `${source}:${target}${mode}`]
  const memory = (target: string, size: string) =>
    targets.has(target) ? [] : ['--tmpfs', `${target}:rw,exec,nosuid,mode=1777,size=${size}`]
  const workspace = mountedCwd ?? folders?.workspace
  return [
    ...(workspace === undefined ? memory(workspacePath, '10g') : mount(workspace, workspacePath)),
    ...(folders === undefined ? memory('/root', '1g') : mount(folders.home, '/root')),
    ...mount(attachments.source, attachments.target, ':ro'),
    ...volumes.flatMap((volume) => ['--volume', volume]),
  ]
}

function expandHome(volume: string, { userHome }: Pick<Machine, 'userHome'>): string {
  return volume.startsWith('~/') ? `${userHome}${volume.slice(1)}` : volume
}

function targetOf(volume: string): string {
  const [, target = ''] = volume.split(':')
  return target.replace(/\/+$/, '')
}

/** Arguments that create and start the container of the plan. */
export function runArguments(plan: ContainerPlan, name: string, without: ReadonlySet<OptionalPart>): string[] {
  const { settings, owner } = plan
  const labels = [
    ...ownLabels(owner),
    `${labelNames.conversation}=${owner.conversation}`,
    `${labelNames.keep}=${settings.container_persistent ? 'yes' : 'no'}`,
    `${labelNames.plan}=${planHash(plan)}`,
  ]
  return [
    ...['run', '--detach', '--pull', 'never', '--name', name],
    ...labels.flatMap((label) => ['--label', label]),
    ...planArguments(plan, without),
    ...[settings.docker_image, '-c', mainScript],
  ]
}

/** Two plans with the same hash make the same container. */
export function planHash(plan: ContainerPlan): string {
  const described = [plan.settings.docker_image, plan.settings.docker_env, ...planArguments(plan, new Set())]
  return createHash('sha256').update(JSON.stringify(described)).digest('hex').slice(0, 16)
}

/** The part that the engine cannot obey, as its failure says. Undefined: the failure has another cause. */
export function refusedPart(stderr: string): OptionalPart | undefined {
  if (/container-init|init binary|docker-init|catatonit/i.test(stderr)) return 'init'
  if (/storage-opt|storage option|size option|quota/i.test(stderr)) return 'disk'
  if (/cgroup|controller .*not available|pids limit|resource limits/i.test(stderr)) return 'limits'
  return undefined
}
