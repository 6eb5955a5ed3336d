/**
 * The environment `docker`: commands run in a container of docker or podman (contract S11). With `container_persistent`
 * there is one container for all conversations of the home; without it each conversation has its own, which is removed.
 */
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type EnvironmentCheck, type EnvironmentKind, isHermesError, messageOf, raceAbort } from '#sdk'
import { type ClientProgram, clientNames } from '../shared/client-program.ts'
import { removeConversationFolders, sharedKey } from '../shared/command-variables.ts'
import { createExposedFiles, type ExposedFiles } from '../shared/exposed-files.ts'
import { homeLabel, knownHomeLabel } from '../shared/home-label.ts'
import { type Machine, thisMachine } from '../shared/machine.ts'
import { createRecovery } from '../shared/recovery.ts'
import type { SettingsRequest } from '../shared/settings.ts'
import { createSharedEnvironments } from '../shared/shared-environments.ts'
import { type ContainerPlan, type DockerSettings, labelNames, ownLabels } from './arguments.ts'
import { createDockerClient } from './client.ts'
import {
  type Engine,
  hasImage,
  listContainers,
  openEngine,
  removeContainer,
  requireEngineProgram,
  stopContainer,
} from './engine.ts'
import { mountedDirectory, reachesMachine, workingDirectory } from './machine-folders.ts'

type Request = SettingsRequest<DockerSettings>

/** An engine may have to be started first. */
const maxOpenMs = 60_000

export function createDockerKind(machine: Machine = thisMachine()): EnvironmentKind<DockerSettings> {
  /** The engine of the configured program. */
  let engine: { readonly path: string; readonly opening: Promise<Engine> } | undefined
  const recover = createRecovery(recoverContainers)

  const requireEngine = async (request: Request, signal: AbortSignal): Promise<Engine> => {
    await recover.beforeStart(request, signal)
    const program = programOf(request)
    if (engine?.path !== program.path) {
      const opening = openEngine(program, AbortSignal.timeout(maxOpenMs)).catch((error: unknown) => {
        if (engine?.opening === opening) engine = undefined
        throw error
      })
      engine = { path: program.path, opening }
    }
    // It goes on for the others when one caller gives up.
    return await raceAbort(engine.opening, signal)
  }

  const open = (key: string, latest: () => Request) => {
    const request = latest()
    const directory = join(directoryOf(request), key)
    const files = createExposedFiles(request.attachmentsDirectory, join(directory, 'attachments'))
    const client = createDockerClient({
      plan: () => planOf(latest(), { key, directory, files, machine }),
      engine: (signal) => requireEngine(latest(), signal),
      async removed() {
        if (key !== sharedKey) await rm(directory, { recursive: true, force: true })
      },
      announce: (text) => latest().announce?.(text),
      lifetimeMs() {
        const { lifetime_seconds: seconds } = latest().settings
        return seconds === 0 ? undefined : seconds * 1_000
      },
      log: request.log,
    })
    return { client, files }
  }

  return {
    create: createSharedEnvironments({
      open,
      workingDirectory,
      isContainer: (settings) => !reachesMachine(settings),
    }),
    check: (request, signal) => checkDocker(request, signal),
    recover: recover.once,
  }
}

function directoryOf({ home }: Pick<Request, 'home'>): string {
  return join(home, 'sandboxes', 'docker')
}

/** @throws HermesError environment/no-client */
function programOf({ settings, gatewayEnv, clientVariables }: Request): ClientProgram {
  const path = requireEngineProgram(settings.docker_binary, gatewayEnv['PATH'] ?? '')
  return { path, env: clientVariables(clientNames) }
}

/** Creates the folders that the container keeps. Rejects `environment/container-failed`, or with a system error. */
async function planOf(
  request: Request,
  {
    key,
    directory,
    files,
    machine,
  }: {
    readonly key: string
    readonly directory: string
    readonly files: ExposedFiles
    readonly machine: Machine
  },
): Promise<ContainerPlan> {
  const { settings, home, profile, attachmentsDirectory } = request
  await mkdir(directoryOf(request), { recursive: true, mode: 0o700 })
  await files.prepare()
  const folders = { workspace: join(directory, 'workspace'), home: join(directory, 'home') }
  if (settings.container_persistent)
    for (const folder of [folders.workspace, folders.home]) {
      await mkdir(folder, { recursive: true })
      // The user of the image may be any; the directory above keeps others of this machine out.
      await chmod(folder, 0o777)
    }
  return {
    settings,
    owner: { home: await homeLabel(home, directoryOf(request)), profile, conversation: key },
    folders: settings.container_persistent ? folders : undefined,
    mountedCwd: await mountedDirectory(request, machine),
    attachments: { source: join(directory, 'attachments'), target: attachmentsDirectory },
    machine,
  }
}

const checkTimeoutMs = 5_000

async function checkDocker(request: Request, signal: AbortSignal): Promise<EnvironmentCheck> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(checkTimeoutMs)])
  try {
    const engine = await openEngine(programOf(request), limited)
    const image = request.settings.docker_image
    const isHere = await hasImage(engine, image, limited)
    const ofImage = isHere ? `image ${image}` : `the first command fetches the image ${image}`
    return { ok: true, detail: `${engine.name} ${engine.version}, ${ofImage}` }
  } catch (error) {
    if (isHermesError(error)) return { ok: false, code: error.code, detail: error.message, hint: error.hint }
    const detail = signal.aborted ? 'The check was ended.' : `The engine did not answer: ${messageOf(error)}`
    return { ok: false, code: 'environment/unreachable', detail, hint: 'Start the engine: `systemctl start docker`.' }
  }
}

/** Stops or removes what an earlier process of this home has left. Rejects `environment/...`. */
async function recoverContainers(request: Request, signal: AbortSignal): Promise<void> {
  const { home, profile, log, settings } = request
  const label = await knownHomeLabel(home, directoryOf(request))
  if (label === undefined || !settings.docker_orphan_reaper) return
  const engine = await openEngine(programOf(request), signal)
  const owner = { home: label, profile }
  for (const { id, status, labels } of await listContainers(engine, ownLabels(owner), signal)) {
    const isKept = settings.container_persistent && labels[labelNames.keep] === 'yes' && status !== 'created'
    if (isKept && status !== 'running') continue
    if (isKept) await stopContainer(engine, id, signal)
    else await removeContainer(engine, id, signal)
    const action = isKept ? 'stopped' : 'removed'
    log.info(
      { event: 'container.orphan', container: id.slice(0, 12), action },
      'a container of an earlier run was found',
    )
  }
  await removeConversationFolders(directoryOf(request))
}
