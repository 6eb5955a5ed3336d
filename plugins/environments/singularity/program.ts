/**
 * The program `apptainer`, or its predecessor `singularity`: found on the PATH, asked for its version and its instances.
 */
import { z } from 'zod'
import { findProgram, HermesError, parseJson } from '#sdk'
import { type ClientProgram, type ClientResult, reasonOf, runClient } from '../shared/client-program.ts'

/** A question takes this long at most. */
const askTimeoutMs = 5_000
/** Start or stop of an instance. */
const orderTimeoutMs = 120_000

/** @throws HermesError environment/no-client */
export function requireSingularity(searchPath: string): string {
  const program = findProgram('apptainer', searchPath) ?? findProgram('singularity', searchPath)
  if (program !== undefined) return program
  throw new HermesError('environment/no-client', 'Neither apptainer nor singularity is on the PATH.')
}

/** Returns the name and the version. Rejects `environment/no-client`, `environment/engine-too-old`, or the signal's reason. */
export async function singularityVersion(program: ClientProgram, signal: AbortSignal): Promise<string> {
  const result = await runClient(program, ['--version'], { signal, timeoutMs: askTimeoutMs })
  if (result.exitCode !== 0) throw new HermesError('environment/no-client', `${program.path}: ${reasonOf(result)}`)
  const version = result.stdout.trim()
  const major = Number.parseInt(/(\d+)\.\d+/.exec(version)?.[1] ?? '0', 10)
  const oldest = /^apptainer/i.test(version) ? 1 : 3
  if (major >= oldest) return version
  throw new HermesError('environment/engine-too-old', `This is ${version}; version ${oldest} or newer is needed.`)
}

/** Runs one order. Rejects only with the signal's reason. */
export function orderSingularity(
  program: ClientProgram,
  args: readonly string[],
  signal: AbortSignal,
): Promise<ClientResult> {
  return runClient(program, args, { signal, timeoutMs: orderTimeoutMs })
}

const listed = z.object({ instances: z.array(z.object({ instance: z.string() })).nullish() })

/** The names of the running instances of this user. Rejects `environment/unreachable`, or the signal's reason. */
export async function listInstances(program: ClientProgram, signal: AbortSignal): Promise<readonly string[]> {
  const result = await runClient(program, ['instance', 'list', '--json'], { signal, timeoutMs: askTimeoutMs })
  if (result.exitCode !== 0) throw new HermesError('environment/unreachable', reasonOf(result))
  const parsed = listed.safeParse(parseJson(result.stdout))
  if (!parsed.success) throw new HermesError('environment/unreachable', 'The list of instances cannot be read.')
  return (parsed.data.instances ?? []).map(({ instance }) => instance)
}
