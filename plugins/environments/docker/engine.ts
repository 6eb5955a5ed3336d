/**
 * The engine behind `docker` or `podman`: found on the PATH, asked for its version, and asked about containers and images.
 */
import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { findProgram, HermesError, parseJson } from '#sdk'
import {
  type ClientProgram,
  type ClientResult,
  type ClientRunOptions,
  reasonOf,
  runClient,
} from '../shared/client-program.ts'

export interface Engine {
  readonly program: ClientProgram
  readonly name: 'docker' | 'podman'
  /** The version of the engine, such as `27.3.1`. */
  readonly version: string
}

/** A container as the engine describes it. */
export interface ContainerState {
  readonly id: string
  /** `running`, `exited`, `created`, `paused` ... */
  readonly status: string
  readonly labels: Readonly<Record<string, string>>
  /** Whether a command runs in it that was started from outside. */
  readonly isBusy: boolean
  /** The kernel ended it for lack of memory. */
  readonly outOfMemory: boolean
}

/** Older versions lack `--init` or the variables of `exec`. */
const oldestVersions = { docker: [20, 10], podman: [3, 4] } as const

/** A question to an engine of this machine. */
const askTimeoutMs = 5_000
/** Start, stop or removal. */
export const orderTimeoutMs = 60_000

/** Where programs of Docker Desktop lie, which are missing on the PATH of a service. */
const otherDirectories = '/usr/local/bin:/opt/homebrew/bin:/Applications/Docker.app/Contents/Resources/bin'

/** @param setting `terminal.docker_binary`: a name, a path, or '' for the first of docker and podman. Undefined: there is none. */
export function findEngineProgram(setting: string, searchPath: string): string | undefined {
  if (isAbsolute(setting)) return setting
  const names = setting === '' ? ['docker', 'podman'] : [setting]
  for (const path of [searchPath, otherDirectories])
    for (const name of names) {
      const program = findProgram(name, path)
      if (program !== undefined) return program
    }
  return undefined
}

/** @throws HermesError environment/no-client */
export function requireEngineProgram(setting: string, searchPath: string): string {
  const program = findEngineProgram(setting, searchPath)
  if (program !== undefined) return program
  const detail = setting === '' ? 'Neither docker nor podman is on the PATH.' : `There is no program ${setting}.`
  throw new HermesError('environment/no-client', detail)
}

/** Rejects `environment/no-client`, `environment/unreachable`, `environment/engine-too-old`, or the signal's reason. */
export async function openEngine(program: ClientProgram, signal: AbortSignal): Promise<Engine> {
  const named = await runClient(program, ['--version'], { signal, timeoutMs: askTimeoutMs })
  if (named.exitCode !== 0) throw new HermesError('environment/no-client', `${program.path}: ${reasonOf(named)}`)
  const name = /podman/i.test(named.stdout) ? 'podman' : 'docker'
  // The server of docker is another program, which may not run. Podman has no server on the same machine.
  const field = name === 'docker' ? '{{.Server.Version}}' : '{{.Client.Version}}'
  const answer = await runClient(program, ['version', '--format', field], { signal, timeoutMs: askTimeoutMs })
  if (answer.exitCode !== 0) throw notRunning(program, answer)
  const version = answer.stdout.trim()
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  const [oldestMajor, oldestMinor] = oldestVersions[name]
  if (major < oldestMajor || (major === oldestMajor && minor < oldestMinor)) {
    const detail = `This is ${name} ${version}; ${oldestMajor}.${oldestMinor} or newer is needed.`
    throw new HermesError('environment/engine-too-old', detail)
  }
  return { program, name, version }
}

/** Rejections of the engine, as the error that says what to do. */
export function failureOf({ program }: Engine, result: ClientResult): HermesError {
  if (isEngineUnreachable(result)) return notRunning(program, result)
  return new HermesError('environment/container-failed', reasonOf(result))
}

function notRunning({ path }: ClientProgram, result: ClientResult): HermesError {
  const mayNotAsk = /permission denied/i.test(result.stderr)
  const hint = mayNotAsk
    ? 'Add the user of the gateway to the group docker and restart the gateway, or use rootless podman.'
    : 'Start the engine (`systemctl start docker`, or Docker Desktop). The next command tries again.'
  const options = { hint }
  return new HermesError('environment/unreachable', `${path}: ${reasonOf(result)}`, options)
}

/** What the client programs say when the engine itself does not answer. */
const unreachable =
  /cannot connect to|is the docker daemon running|error during connect|connection refused|unable to connect|failed to connect|dial (?:unix|tcp)|permission denied while trying/i

/** Whether the failure lies in the engine and not in what it was asked. */
export function isEngineUnreachable({ stderr, timedOut }: Pick<ClientResult, 'stderr' | 'timedOut'>): boolean {
  return timedOut || unreachable.test(stderr)
}

/** Runs one order. Rejects `environment/unreachable`, `environment/container-failed`, or the signal's reason. */
export async function order(
  engine: Engine,
  args: readonly string[],
  options: Partial<ClientRunOptions> & Pick<ClientRunOptions, 'signal'>,
): Promise<string> {
  const result = await runClient(engine.program, args, { timeoutMs: orderTimeoutMs, ...options })
  if (result.exitCode !== 0) throw failureOf(engine, result)
  return result.stdout
}

const inspected = z.array(
  z.object({
    Id: z.string(),
    State: z.object({ Status: z.string(), OOMKilled: z.boolean().optional() }),
    Config: z.object({ Labels: z.record(z.string(), z.string()).nullish() }),
    ExecIDs: z.array(z.string()).nullish(),
  }),
)

/** The containers with all of these labels, `name=value` each. Rejects as `order`. */
export async function listContainers(
  engine: Engine,
  labels: readonly string[],
  signal: AbortSignal,
): Promise<readonly ContainerState[]> {
  const filters = labels.flatMap((label) => ['--filter', `label=${label}`])
  const listed = await order(engine, ['ps', '--all', '--quiet', '--no-trunc', ...filters], { signal })
  const ids = listed.split('\n').filter((id) => id !== '')
  const states = await Promise.all(ids.map((id) => inspectContainer(engine, id, signal)))
  return states.filter((state) => state !== undefined)
}

/** Undefined: there is no such container. Rejects as `order`. */
export async function inspectContainer(
  { program }: Engine,
  id: string,
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  const result = await runClient(program, ['container', 'inspect', id], { signal, timeoutMs: askTimeoutMs })
  if (result.exitCode !== 0) {
    if (isEngineUnreachable(result) || result.exitCode === null) throw notRunning(program, result)
    return undefined
  }
  const [container] = inspected.parse(parseJson(result.stdout))
  if (container === undefined) return undefined
  return {
    id: container.Id,
    status: container.State.Status,
    labels: container.Config.Labels ?? {},
    isBusy: (container.ExecIDs ?? []).length > 0,
    outOfMemory: container.State.OOMKilled === true,
  }
}

/** Ends everything that runs in a container, and keeps its files. Rejects as `order`. */
export async function stopContainer(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
  await order(engine, ['stop', '--time', '2', id], { signal })
}

/** Removes a container at once, whatever runs in it. A missing one is fine. Rejects as `order`. */
export async function removeContainer(engine: Engine, id: string, signal: AbortSignal): Promise<void> {
  // Podman waits for a container to react to SIGTERM before it removes it; docker does not.
  await runClient(engine.program, ['kill', id], { signal, timeoutMs: orderTimeoutMs })
  try {
    await order(engine, ['rm', '--force', '--volumes', id], { signal })
  } catch (error) {
    if ((await inspectContainer(engine, id, signal)) !== undefined) throw error
  }
}

/** Whether the image is on this machine. Rejects as `order`. */
export async function hasImage({ program }: Engine, image: string, signal: AbortSignal): Promise<boolean> {
  const result = await runClient(program, ['image', 'inspect', '--format', '{{.Id}}', image], {
    signal,
    timeoutMs: askTimeoutMs,
  })
  if (result.exitCode === 0) return true
  if (isEngineUnreachable(result)) throw notRunning(program, result)
  return false
}
