/**
 * The environment `singularity`: commands run in an instance of Apptainer or Singularity, for machines on which users may
 * not start containers as root (contract S11).
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { type EnvironmentCheck, type EnvironmentKind, isHermesError, messageOf } from '#sdk'
import { type ClientProgram, clientNames } from '../shared/client-program.ts'
import { removeConversationFolders, sharedKey } from '../shared/command-variables.ts'
import { createExposedFiles } from '../shared/exposed-files.ts'
import { homeLabel, knownHomeLabel } from '../shared/home-label.ts'
import { type Machine, thisMachine } from '../shared/machine.ts'
import { createRecovery } from '../shared/recovery.ts'
import { containerSettings, type SettingsRequest } from '../shared/settings.ts'
import { createSharedEnvironments } from '../shared/shared-environments.ts'
import { containerDirectory } from '../shared/working-directory.ts'
import { createSingularityClient, type InstancePlan, stopInstance } from './client.ts'
import { fetchSingularityImage, imageFile } from './image.ts'
import { listInstances, requireSingularity, singularityVersion } from './program.ts'

/** The keys of `terminal` that this kind reads. The configuration of the gateway has their defaults. */
export const singularitySettings = z.object({
  ...containerSettings.shape,
  singularity_image: z.string(),
  singularity_scratch_dir: z.string(),
})

export type SingularitySettings = z.output<typeof singularitySettings>

type Request = SettingsRequest<SingularitySettings>

export function createSingularityKind(machine: Machine = thisMachine()): EnvironmentKind<SingularitySettings> {
  const recover = createRecovery((request: Request, signal) => recoverInstances(request, machine, signal))

  const open = (key: string, latest: () => Request) => {
    const request = latest()
    const directory = join(directoryOf(request, machine), 'places', key)
    const files = createExposedFiles(request.attachmentsDirectory, join(directory, 'attachments'))
    const client = createSingularityClient({
      async plan(signal) {
        await recover.beforeStart(latest(), signal)
        await files.prepare()
        return await planOf(latest(), { directory, machine }, signal)
      },
      async closed() {
        if (key !== sharedKey) await rm(directory, { recursive: true, force: true })
      },
      log: request.log,
    })
    return { client, files }
  }

  return {
    create: createSharedEnvironments({ open, workingDirectory: containerDirectory, isContainer: () => true }),
    check: (request, signal) => checkSingularity(request, machine, signal),
    recover: recover.once,
  }
}

/** @throws HermesError environment/no-client */
function programOf({ gatewayEnv, clientVariables }: Request): ClientProgram {
  return { path: requireSingularity(gatewayEnv['PATH'] ?? ''), env: clientVariables(clientNames) }
}

/** Holds the identity of the home, so it does not depend on the scratch directory. */
function stateOf({ home }: Pick<Request, 'home'>): string {
  return join(home, 'sandboxes', 'singularity')
}

/** On clusters the home directory is small, and /scratch is made for this. */
function directoryOf(request: Request, { userName }: Pick<Machine, 'userName'>): string {
  const { settings, home } = request
  if (settings.singularity_scratch_dir !== '') return resolve(home, settings.singularity_scratch_dir)
  if (!isWritable('/scratch')) return stateOf(request)
  return join('/scratch', userName, 'hermes-gateway')
}

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    // Missing, or of another user.
    return false
  }
}

const namePrefixOf = (label: string) => `hermes-${label}-`

/** Rejects `environment/...`, with a system error, or with the reason of the signal. */
async function planOf(
  request: Request,
  { directory, machine }: { readonly directory: string; readonly machine: Machine },
  signal: AbortSignal,
): Promise<InstancePlan> {
  const { settings, home, attachmentsDirectory, log } = request
  const program = programOf(request)
  await singularityVersion(program, signal)
  const workspace = join(directory, 'workspace')
  const overlay = join(directory, 'overlay')
  for (const folder of settings.container_persistent ? [workspace, overlay] : [workspace])
    await mkdir(folder, { recursive: true, mode: 0o700 })
  const announce = (text: string) => request.announce?.(text)
  const images = join(directoryOf(request, machine), 'images')
  return {
    program,
    image: await fetchSingularityImage(program, settings.singularity_image, images, { signal, announce, log }),
    namePrefix: namePrefixOf(await homeLabel(home, stateOf(request))),
    workspace,
    attachments: { source: join(directory, 'attachments'), target: attachmentsDirectory },
    overlay: settings.container_persistent ? overlay : undefined,
    cpu: settings.container_cpu,
    memory: settings.container_memory,
    hasNetwork: settings.docker_network,
  }
}

async function checkSingularity(request: Request, machine: Machine, signal: AbortSignal): Promise<EnvironmentCheck> {
  try {
    const version = await singularityVersion(programOf(request), signal)
    const image = request.settings.singularity_image
    const file = imageFile(image, join(directoryOf(request, machine), 'images'))
    if (existsSync(file)) return { ok: true, detail: `${version}, image ${image}` }
    if (file !== image) return { ok: true, detail: `${version}, the first command fetches the image ${image}` }
    const hint = 'Correct `terminal.singularity_image`.'
    return { ok: false, code: 'environment/no-image', detail: `There is no file ${image}.`, hint }
  } catch (error) {
    if (isHermesError(error)) return { ok: false, code: error.code, detail: error.message, hint: error.hint }
    return { ok: false, code: 'environment/unreachable', detail: messageOf(error), hint: 'Try it again.' }
  }
}

/** Stops the instances that an earlier process of this home has left. Rejects `environment/...`. */
async function recoverInstances(request: Request, machine: Machine, signal: AbortSignal): Promise<void> {
  const label = await knownHomeLabel(request.home, stateOf(request))
  if (label === undefined) return
  const program = programOf(request)
  for (const name of await listInstances(program, signal)) {
    if (!name.startsWith(namePrefixOf(label))) continue
    await stopInstance(program, name, signal)
    request.log.info(
      { event: 'container.orphan', container: name, action: 'stopped' },
      'a container of an earlier run was found',
    )
  }
  await removeConversationFolders(join(directoryOf(request, machine), 'places'))
}
